/**
 * The tree as the tidy tests see it: every text file that belongs to the repository, and which module imports which.
 *
 * Imports come from the linter's own parser, so type imports, re-exports and dynamic imports count and a string that
 * merely looks like an import does not. Paths are relative to the root, sorted. Git-ignored folders are not read.
 */

import { FOLDERS, resolveImport } from "./floor_plan.ts";

export interface SourceFile {
  readonly path: string;
  readonly text: string;
}

export interface Import {
  readonly specifier: string;
  /** Path of the imported file, or null for a package. */
  readonly target: string | null;
  /** False for a module that is only named, by its URL, to be started as a worker or a process of its own. */
  readonly linked: boolean;
}

const ROOT = new URL("../../", import.meta.url);
const TEXT =
  /\.([cm]?[jt]sx?|wgsl|md|json|toml|sh|txt|html|css|yml)$|^(Makefile|LICENSE)$|^\.ci\/run$|^\.(gitignore|editorconfig)$/;
const IGNORED = new Set([".git", ".deno", ".cache", "runs", "dist", "node_modules", "coverage", "iota", "lab"]);

/** Names at the top level, without those git ignores. */
export function topLevel(): string[] {
  return [...Deno.readDirSync(ROOT)].map((entry) => entry.name)
    .filter((name) => !IGNORED.has(name) && !name.endsWith(".tmp")).sort();
}

function listFiles(folder: string): string[] {
  const found: string[] = [];
  for (const entry of Deno.readDirSync(new URL(folder === "" ? "." : folder, ROOT))) {
    if (folder === "" && IGNORED.has(entry.name)) continue;
    const path = folder + entry.name;
    if (entry.isDirectory) found.push(...listFiles(`${path}/`));
    else if (entry.isFile && !path.endsWith(".tmp")) found.push(path);
  }
  return found;
}

/** Every text file of the repository, sorted by path. */
export function textFiles(): SourceFile[] {
  return listFiles("").filter((path) => TEXT.test(path)).sort()
    .map((path) => ({ path, text: Deno.readTextFileSync(new URL(path, ROOT)) }));
}

export function readText(path: string): string {
  return Deno.readTextFileSync(new URL(path, ROOT));
}

/** Our modules: TypeScript in the six folders. */
export function isModule(file: SourceFile): boolean {
  return file.path.endsWith(".ts") && FOLDERS.some((folder) => file.path.startsWith(`${folder}/`));
}

/** The strings of a module that name a path in tests, however they are used: an import, a URL, a part of a longer path. */
export function stringsInto(folder: string, file: SourceFile): string[] {
  const found: string[] = [];
  const named = new RegExp(String.raw`(^|[\s/"'])${folder}(/|$)`);
  const collect = (value: unknown): void => {
    if (typeof value === "string" && named.test(value)) found.push(value);
  };
  const visitor: Deno.lint.LintVisitor = {
    Literal: (node) => collect(node.value),
    TemplateElement: (node) => collect(node.cooked),
  };
  Deno.lint.runPlugin({ name: "strings", rules: { collect: { create: () => visitor } } }, file.path, file.text);
  return found;
}

/** What a file imports, in order of appearance. */
export function importsOf(file: SourceFile): Import[] {
  const found: Import[] = [];
  function collect(source: Deno.lint.Node | null, linked = true): void {
    const specifier = textOf(source);
    if (specifier !== null) found.push({ specifier, target: resolveImport(file.path, specifier), linked });
  }
  const visitor: Deno.lint.LintVisitor = {
    ImportDeclaration: (node) => collect(node.source),
    ExportNamedDeclaration: (node) => collect(node.source),
    ExportAllDeclaration: (node) => collect(node.source),
    ImportExpression: (node) => collect(node.source),
    TSImportType: (node) => collect(node.argument.type === "TSLiteralType" ? node.argument.literal : null),
    // new URL("./worker.ts", import.meta.url) names a module as well
    NewExpression(node) {
      if (node.callee.type !== "Identifier" || node.callee.name !== "URL" || node.arguments.length !== 2) return;
      const [path] = node.arguments;
      const choices = path?.type === "ConditionalExpression" ? [path.consequent, path.alternate] : [path];
      for (const choice of choices) {
        if (choice !== undefined && textOf(choice)?.endsWith(".ts")) collect(choice, false);
      }
    },
  };
  Deno.lint.runPlugin({ name: "imports", rules: { collect: { create: () => visitor } } }, file.path, file.text);
  return found;
}

/** A string, or a template without expressions; null: anything else. */
function textOf(node: Deno.lint.Node | null): string | null {
  if (node?.type === "Literal") return typeof node.value === "string" ? node.value : null;
  const [only, ...others] = node?.type === "TemplateLiteral" ? node.quasis : [];
  return only === undefined || others.length > 0 ? null : only.cooked;
}

/** Imports and URLs of modules whose target cannot be read here, so that no other check sees them; as `path: text`. */
export function hiddenImports(file: SourceFile): string[] {
  const found: string[] = [];
  const report = (node: Deno.lint.Node) => found.push(`${file.path}: ${file.text.slice(...node.range)}`);
  const isMeta = (node: Deno.lint.Node | undefined, property: string) =>
    node?.type === "MemberExpression" && node.object.type === "MetaProperty" &&
    node.property.type === "Identifier" && node.property.name === property;
  const visitor: Deno.lint.LintVisitor = {
    ImportExpression(node) {
      if (textOf(node.source) === null) report(node);
    },
    CallExpression(node) {
      if (isMeta(node.callee, "resolve")) report(node);
    },
    NewExpression(node) {
      const [path, base] = node.arguments;
      if (!isMeta(base, "url") || path === undefined) return;
      const isNamed = node.callee.type === "Identifier" && node.callee.name === "URL";
      const choices = path.type === "ConditionalExpression" ? [path.consequent, path.alternate] : [path];
      if (!isNamed || choices.some((choice) => choice.type !== "Identifier" && textOf(choice) === null)) report(node);
    },
  };
  Deno.lint.runPlugin({ name: "hidden", rules: { collect: { create: () => visitor } } }, file.path, file.text);
  return found;
}

/** One cycle through `edges` as a list of nodes that ends where it begins, or null. */
export function findCycle(edges: ReadonlyMap<string, readonly string[]>): string[] | null {
  const done = new Set<string>();
  const trail: string[] = [];
  function visit(node: string): string[] | null {
    if (done.has(node)) return null;
    const start = trail.indexOf(node);
    if (start >= 0) return [...trail.slice(start), node];
    trail.push(node);
    for (const next of edges.get(node) ?? []) {
      const cycle = visit(next);
      if (cycle !== null) return cycle;
    }
    trail.pop();
    done.add(node);
    return null;
  }
  for (const node of edges.keys()) {
    const cycle = visit(node);
    if (cycle !== null) return cycle;
  }
  return null;
}
