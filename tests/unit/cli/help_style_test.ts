/** One style for all help: every command and action is checked against the same rules. */

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { parseOptions } from "../../../cli/terminal/options/args.ts";
import { type Command, commonOptions, type OptionSpec } from "../../../cli/terminal/command.ts";
import { commandTable, iota } from "../../../cli/command_table.ts";
import { main } from "../../../cli/command_line.ts";
import { allOptions, everyCommand, loadTree } from "../../../cli/terminal/completions/command_tree.ts";
import { flagPaths, runOptions } from "../../../cli/terminal/options/run_options.ts";
import { derived } from "../../../core/config/knob.ts";
import { knobAt } from "../../../core/config/knobs.ts";
import { isSizedPath } from "../../../core/config/size.ts";
import { FakeHost } from "../../support/fake_host.ts";

const tree = await loadTree(commandTable);
const commands = everyCommand(tree);
const widest = 100; // columns

function eachCommand(name: string, check: (command: Command) => void | Promise<void>): void {
  Deno.test(`Help style: ${name}`, async () => {
    for (const command of commands) await check(command);
  });
}

async function helpOf(words: readonly string[], columns: number): Promise<string> {
  const host = new FakeHost({ terminal: { columns, rows: 24 } });
  assertEquals(await main(["help", ...words, "--no-color"], host), 0);
  return host.written.stdout;
}

eachCommand("the table and the command use the same name", ({ name, usage }) => {
  assertMatch(name, /^[a-z]+( [a-z]+)?$/);
  assert(usage === name || usage.startsWith(`${name} `), usage);
});

Deno.test("Help style: a name is found where the table has it", () => {
  assertEquals(tree.map(({ command }) => command.name), Object.keys(commandTable));
  for (const { command, actions } of tree) {
    const names = Object.keys(command.actions ?? {}).map((action) => `${command.name} ${action}`);
    assertEquals(actions.map(({ name }) => name), names);
  }
});

eachCommand("a summary is a line in lower case without a full stop", ({ name, summary }) => {
  assertMatch(summary, /^[a-z].*[^.]$/, name);
  assert(summary.length <= 85, `${name}: ${summary}`);
});

eachCommand("a command's description is sentences", ({ name, about, actions }) => {
  assert(about === undefined || /^[A-Z].*\.$/s.test(about), `${name}: ${about}`);
  assert(about !== undefined || actions === undefined, name);
});

eachCommand("every option is documented in lower case without a full stop", ({ name, options }) => {
  for (const { name: option, doc } of options) assertMatch(doc, /^[a-z0-9:].{3,}[^.]$/i, `${name} --${option}`);
  for (const { doc } of options) assert(!/^[A-Z][a-z]/.test(doc) || /^(UID|TAO|PLAN)/.test(doc), `${name}: ${doc}`);
});

eachCommand("an option has one meaning: no name twice, none of the common ones", ({ name, options }) => {
  const names = [...options, ...commonOptions].map((option) => option.name);
  assertEquals(names, [...new Set(names)], name);
  for (const option of names) assertMatch(option, /^[a-z]+(-[a-z]+)*$/, name);
});

eachCommand("a placeholder is in capitals", ({ name, options }) => {
  for (const spec of options) {
    if (spec.kind === "boolean") continue;
    assertMatch(spec.placeholder, /^[A-Z][A-Z0-9]*([^a-z]*)$/, `${name} --${spec.name}`);
  }
});

eachCommand("a default is what its option accepts", ({ name, options }) => {
  for (const spec of options) {
    if (spec.default === undefined || spec.kind === "boolean") continue;
    parse(`${name} --${spec.name}`, [spec], [`--${spec.name}=${spec.default}`]);
  }
  for (const spec of options) {
    if (spec.kind !== "string") continue;
    for (const value of spec.suggestions ?? []) assertMatch(value, /^[\w.-]+$/, `${name} --${spec.name}`);
  }
});

eachCommand("usage names only options that there are, and says where there are more", ({ name, usage, options }) => {
  const known = new Set([...options, ...commonOptions].map((option) => option.name));
  const named = [...usage.matchAll(/--([a-z-]+)/g)].map(([, option]) => option!);
  for (const option of named) assert(known.has(option), `${name}: --${option}`);
  const isWhole = options.every((option) => named.includes(option.name));
  assert(isWhole || usage.includes("[options]"), `${name}: its usage must end with [options]`);
});

eachCommand("examples are whole command lines, and they parse", ({ name, examples, options, positionals, actions }) => {
  assert(examples.length > 0, name);
  for (const example of examples) {
    assert(example.length + 2 <= widest, `${example}: ${example.length} columns`); // it is for copying, so never wrapped
    const [line] = example.split(/ [|>] /);
    const words = shellWords(line!);
    assertEquals([words[0], words[1]], ["iota", name.split(" ")[0]], example);
    if (actions !== undefined) {
      const action = commands.find((command) => command.name === `${words[1]} ${words[2]}`);
      assert(action !== undefined, example);
      parse(example, allOptions(action), words.slice(3), action.positionals?.max);
    } else {
      const own = name.split(" ");
      assertEquals(words.slice(1, 1 + own.length), own, example);
      const rest = words.slice(1 + own.length);
      parse(example, [...options, ...commonOptions], rest, positionals?.max);
    }
  }
});

eachCommand("help says all of it, at 80 columns and at the widest", async (command) => {
  for (const columns of [80, 200]) {
    const text = await helpOf(command.name.split(" "), columns);
    const width = Math.min(columns, widest);
    for (const option of allOptions(command)) assertMatch(text, new RegExp(`^  --${option.name}\\b`, "m"));
    for (const example of command.examples) assertStringIncludes(text, `\n  ${example}\n`);
    for (const line of text.split("\n").filter((line) => !command.examples.includes(line.trim()))) {
      assert([...line].length <= width, `${command.name} at ${columns}: ${line}`);
    }
  }
});

Deno.test("Help style: the overview lists every command within 80 columns", async () => {
  const text = await helpOf([], 80);
  for (const { command } of tree) assertMatch(text, new RegExp(`^  ${command.name} +\\S`, "m"));
  for (const line of text.split("\n")) assert([...line].length <= 86, line);
});

function parse(of: string, options: readonly OptionSpec[], words: readonly string[], maxPositionals = 0): void {
  try {
    parseOptions({ words, options, maxPositionals, helpCommand: "help" });
  } catch (error) {
    throw new Error(`${of}: ${error instanceof Error ? error.message : error}`);
  }
}

/** As a shell splits a line: quotes keep words together. */
function shellWords(line: string): string[] {
  return [...line.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(([, double, single, bare]) => double ?? single ?? bare!);
}

Deno.test("Help style: the overview names every topic, whose page fits 80 columns and whose name is not a command's", async () => {
  const overview = await helpOf([], 80);
  for (const [name, { summary }] of Object.entries(iota.topics ?? {})) {
    assertMatch(overview, new RegExp(`^  help ${name} +\\S`, "m"));
    assertMatch(summary, /^[a-z].*[^.]$/, name);
    assert(!Object.hasOwn(commandTable, name), name);
    for (const line of (await helpOf([name], 80)).split("\n")) assert([...line].length <= 80, line);
  }
});

Deno.test("Help style: a misspelt topic is answered with the nearest", async () => {
  for (const words of [["help", "metric"], ["metrics"]]) {
    const host = new FakeHost();
    assertEquals(await main(words, host), 2);
    assertStringIncludes(host.written.stderr, "See iota help metrics");
  }
});

Deno.test("Help style: the default of a run's option is the setting's own", () => {
  for (const [option, path] of Object.entries(flagPaths)) {
    const spec = runOptions.find(({ name }) => name === option)!;
    const { default: initial } = knobAt(path);
    const isSized = isSizedPath(path) || initial === derived;
    assertEquals(spec.defaultText, isSized ? "from --size" : String(initial), option);
  }
});
