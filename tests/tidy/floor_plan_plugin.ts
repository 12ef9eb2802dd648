/**
 * The lint plugin that keeps the floor plan: folder imports, core's purity, and the few shapes of code we do without.
 *
 * Registered in deno.json, so an editor shows each finding while it is typed. Every message says what to use instead.
 * It looks at one file at a time; what needs the whole tree (cycles, sizes, dead files) is in tidy_test.ts.
 */

import { folderOf, importProblem } from "./floor_plan.ts";

export const FUNCTION_LINES_MAX = 70;

/** Names that core may not touch, each with what to use instead. */
const IMPURE: Readonly<Record<string, string>> = {
  setTimeout: "a deadline in the state, reported by nextDeadlineMs",
  setInterval: "a deadline in the state, reported by nextDeadlineMs",
  queueMicrotask: "an Effect",
  crypto: "the counter-based generator of core/prng, or a hash that arrives in an Event",
  Deno: "an Effect that a role in cli performs",
  process: "an Effect that a role in cli performs",
  fetch: "an Effect that a role in cli performs",
  performance: "the nowMs argument",
  console: "an Effect; the shell writes the journal and the log",
  Promise: "an Effect now and an Event later",
  globalThis: "an argument",
  Worker: "an Effect that a role in cli performs",
  WebSocket: "an Effect that a role in cli performs",
  Temporal: "the nowMs argument",
};

/** Members that core may not touch, by object and property. */
const IMPURE_MEMBERS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Date: { now: "the nowMs argument", parse: "a number of milliseconds" },
  Math: { random: "the counter-based generator of core/prng" },
};

const ROOT = decodeURIComponent(new URL("../../", import.meta.url).pathname);

function pathOf(context: Deno.lint.RuleContext): string {
  const path = context.filename.replaceAll("\\", "/");
  return path.startsWith(ROOT) ? path.slice(ROOT.length) : path.replace(/^\//, "");
}

function importRule(context: Deno.lint.RuleContext): Deno.lint.LintVisitor {
  const path = pathOf(context);
  function check(node: Deno.lint.Node, source: Deno.lint.Node | null): void {
    if (source?.type !== "Literal" || typeof source.value !== "string") return;
    const message = importProblem(path, source.value);
    if (message !== null) context.report({ node, message });
  }
  return {
    ImportDeclaration: (node) => check(node, node.source),
    ExportNamedDeclaration: (node) => check(node, node.source),
    ExportAllDeclaration: (node) => check(node, node.source),
    ImportExpression: (node) => check(node, node.source),
    TSImportType: (node) => check(node, node.argument.type === "TSLiteralType" ? node.argument.literal : null),
  };
}

function purityRule(context: Deno.lint.RuleContext): Deno.lint.LintVisitor {
  if (folderOf(pathOf(context)) !== "core") return {};
  function refuse(node: Deno.lint.Node, name: string, instead: string): void {
    context.report({ node, message: `Cannot use '${name}' in core, which must be replayable. Use ${instead}` });
  }
  function checkGlobal(node: Deno.lint.Node): void {
    if (node.type !== "Identifier") return;
    const instead = Object.hasOwn(IMPURE, node.name) ? IMPURE[node.name] : undefined;
    if (instead !== undefined) refuse(node, node.name, instead);
  }
  function checkAsync(node: Deno.lint.Node & { async: boolean }): void {
    if (node.async) refuse(node, "async", "an Effect now and an Event later");
  }
  return {
    MemberExpression(node) {
      checkGlobal(node.object);
      if (node.object.type !== "Identifier" || node.property.type !== "Identifier") return;
      const instead = IMPURE_MEMBERS[node.object.name]?.[node.property.name];
      if (instead !== undefined) refuse(node, `${node.object.name}.${node.property.name}`, instead);
    },
    CallExpression: (node) => checkGlobal(node.callee),
    NewExpression(node) {
      checkGlobal(node.callee);
      if (node.callee.type === "Identifier" && node.callee.name === "Date") {
        refuse(node, "new Date", "the nowMs argument");
      }
    },
    TSTypeReference: (node) => checkGlobal(node.typeName),
    FunctionDeclaration: checkAsync,
    FunctionExpression: checkAsync,
    ArrowFunctionExpression: checkAsync,
    AwaitExpression: (node) => refuse(node, "await", "an Effect now and an Event later"),
    ForOfStatement(node) {
      if (node.await) refuse(node, "for await", "an Effect now and an Event later");
    },
    ImportExpression: (node) => refuse(node, "import()", "a static import"),
    TryStatement: (node) => refuse(node, "try", "assert for our bugs and a Fault value for their input"),
  };
}

function defaultExportRule(context: Deno.lint.RuleContext): Deno.lint.LintVisitor {
  const message = "Cannot export by default, which lets every importer pick another name. Export the name";
  return {
    ExportDefaultDeclaration: (node) => context.report({ node, message }),
    ExportSpecifier(node) {
      if (node.exported.type === "Identifier" && node.exported.name === "default") context.report({ node, message });
    },
  };
}

function enumRule(context: Deno.lint.RuleContext): Deno.lint.LintVisitor {
  const message = 'Cannot declare an enum. Use a union of strings: type Direction = "forward" | "backward"';
  return { TSEnumDeclaration: (node) => context.report({ node, message }) };
}

function barrelRule(context: Deno.lint.RuleContext): Deno.lint.LintVisitor {
  const message = "Cannot hand on another file's exports in bulk. Import each name from the file that defines it";
  return {
    ExportAllDeclaration: (node) => context.report({ node, message }),
    Program(node) {
      const handsOn = (statement: Deno.lint.Statement) =>
        statement.type === "ImportDeclaration" ||
        (statement.type === "ExportNamedDeclaration" && statement.declaration === null);
      const isBarrel = node.body.some((each) => each.type === "ExportNamedDeclaration") && node.body.every(handsOn);
      if (isBarrel) context.report({ range: [node.range[0], node.range[0] + 1], message });
    },
  };
}

function catchRule(context: Deno.lint.RuleContext): Deno.lint.LintVisitor {
  const message = "Cannot drop an exception without a word. Turn it into an event, rethrow it, or say in a comment " +
    "why nothing is lost";
  function swallows(node: Deno.lint.Node): boolean {
    if (node.type !== "ArrowFunctionExpression" && node.type !== "FunctionExpression") return false;
    return node.body?.type === "BlockStatement" && node.body.body.length === 0 &&
      context.sourceCode.getCommentsInside(node.body).length === 0;
  }
  return {
    CatchClause(node) {
      if (node.body.body.length > 0 || context.sourceCode.getCommentsInside(node.body).length > 0) return;
      context.report({ node, message });
    },
    CallExpression(node) {
      if (node.callee.type !== "MemberExpression" || node.callee.property.type !== "Identifier") return;
      const handler = node.arguments[0];
      if (node.callee.property.name !== "catch" || handler === undefined) return;
      if (swallows(handler)) context.report({ node: handler, message });
    },
  };
}

function functionLengthRule(context: Deno.lint.RuleContext): Deno.lint.LintVisitor {
  function check(node: Deno.lint.Node): void {
    const lines = context.sourceCode.text.slice(node.range[0], node.range[1]).split("\n").length;
    if (lines <= FUNCTION_LINES_MAX) return;
    const message = `Cannot accept a function of more than ${FUNCTION_LINES_MAX} lines: this one has ${lines}. ` +
      "Move its steps into functions beside it, named after it";
    context.report({ node, message });
  }
  return { FunctionDeclaration: check, FunctionExpression: check, ArrowFunctionExpression: check };
}

function sleepRule(context: Deno.lint.RuleContext): Deno.lint.LintVisitor {
  if (folderOf(pathOf(context)) !== "tests") return {};
  return {
    CallExpression(node) {
      if (node.callee.type !== "Identifier") return;
      const { name } = node.callee;
      if (name !== "setTimeout" && name !== "setInterval") return;
      const message =
        `Cannot call '${name}' in a test, which neither sleeps nor polls. Await the event itself, move a ` +
        "fake clock, or bound a wait with AbortSignal.timeout";
      context.report({ node, message });
    },
  };
}

const plugin: Deno.lint.Plugin = {
  name: "floor-plan",
  rules: {
    "folder-imports": { create: importRule },
    "core-purity": { create: purityRule },
    "no-default-export": { create: defaultExportRule },
    "no-enum": { create: enumRule },
    "no-barrel": { create: barrelRule },
    "no-silent-catch": { create: catchRule },
    "function-length": { create: functionLengthRule },
    "no-sleep-in-tests": { create: sleepRule },
  },
};

// deno-lint-ignore floor-plan/no-default-export -- the linter loads a plugin by its default export
export default plugin;
