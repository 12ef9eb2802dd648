/** The table of sizes in the README is what the planner says, and its commands are taken by the programs. */

import { assert, assertEquals, assertMatch } from "@std/assert";
import { FakeHost } from "../../support/fake_host.ts";
import { commandTable } from "../../../cli/command_table.ts";
import { main } from "../../../cli/command_line.ts";
import type { Command, CommandTable } from "../../../cli/terminal/command.ts";
import { allOptions } from "../../../cli/terminal/completions/command_tree.ts";
import { parseOptions } from "../../../cli/terminal/options/args.ts";
import { lab } from "../../lab/main.ts";
import { isWhole } from "../../support/whole.ts";

const readme = await Deno.readTextFile(new URL("../../../README.md", import.meta.url));

interface PlannedStage {
  readonly type: string;
  readonly bytes: number;
  readonly wireBytes: { readonly received: number; readonly sent: number };
  readonly trainingMbitPerTflops: number;
  readonly mergingMbitPerTflops: number;
}

async function planned(size: string, ...more: string[]): Promise<PlannedStage[]> {
  const host = new FakeHost();
  assertEquals(await main(["plan", "--size", size, ...more, "--json"], host), 0, host.written.stderr);
  const lines = host.written.stdout.trim().split("\n").map((line) => JSON.parse(line) as PlannedStage);
  return lines.filter(({ type }) => type === "stage");
}

const units: Readonly<Record<string, number>> = { KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30 };

/** Whether a rounded amount such as `15.8 GiB` is this many bytes. */
function isAbout(text: string, bytes: number): boolean {
  const [value = "", unit = ""] = text.split(" ");
  return Math.abs(Number(value) - bytes / (units[unit] ?? NaN)) <= 0.051;
}

Deno.test("README: the table of sizes is what the planner says", async () => {
  const rows = readme.split("\n").filter((line) => /^\| `\w+` +\|.*GiB|^\| `\w+` +\|.*KiB/.test(line))
    .map((line) => line.split("|").slice(1, -1).map((cell) => cell.trim()));
  assert(rows.length >= 7, `${rows.length} rows`);
  for (const [name = "", , stages, memory = "", wires = "", ...links] of rows) {
    const size = name.replaceAll("`", "");
    if (!isWhole && /^\d+b$/.test(size)) continue; // the plans of these take seconds each
    const plan = await planned(size);
    const most = (of: (stage: PlannedStage) => number, stages = plan) => Math.max(...stages.map(of));
    assertEquals(stages, String(plan.length), name);
    assert(isAbout(memory, most(({ bytes }) => bytes)), `${name}: ${memory} for ${most(({ bytes }) => bytes)} bytes`);
    const task = most(({ wireBytes: { received, sent } }) => Math.max(received, sent));
    assert(isAbout(wires, task), `${name}: ${wires} for ${task} bytes`);
    if (links[0] === "–") continue;
    const merging = ({ mergingMbitPerTflops }: PlannedStage) => mergingMbitPerTflops;
    const expected = [
      most(({ trainingMbitPerTflops }) => trainingMbitPerTflops),
      most(merging),
      most(merging, await planned(size, "--merge", "sparse")),
    ];
    assertEquals(links, expected.map((each) => (10 * each).toFixed(1)), name);
  }
});

/** A command line as a shell splits it, without its comment and what stands after `--`. */
function words(line: string): string[] {
  const command = line.replace(/ +# .*$/, "").replace(/ -- .*$/, "");
  return [...command.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(([, double, single, bare]) =>
    double ?? single ?? bare!
  );
}

async function commandOf([name = "", action = ""]: readonly string[], table: CommandTable): Promise<Command> {
  assert(Object.hasOwn(table, name), `no command ${name}`);
  const command = await table[name]!();
  const actions = command.actions ?? {};
  return Object.hasOwn(actions, action) ? await actions[action]!() : command;
}

Deno.test("README: every command line in it is one that iota or lab takes", async () => {
  const blocks = [...readme.matchAll(/^```\n([^]*?)^```/gm)].flatMap(([, block]) => block!.split("\n"));
  const quoted = [...readme.matchAll(/`((?:iota|\.\/lab) [^`]+)`/g)].map(([, line]) => line!);
  const lines = [...blocks, ...quoted].filter((line) => /^(iota|\.\/lab) /.test(line) && !/^iota help/.test(line));
  assert(lines.length >= 15, `${lines.length} lines`);
  for (const line of lines) {
    const [program, ...rest] = words(line);
    const command = await commandOf(rest, program === "iota" ? commandTable : lab.commands);
    const own = command.name.split(" ").length;
    parseOptions({
      words: rest.slice(own),
      options: allOptions(command),
      maxPositionals: command.positionals?.max ?? 0,
      helpCommand: line,
    });
  }
});

Deno.test("README: its targets of make exist", async () => {
  const makefile = await Deno.readTextFile(new URL("../../../Makefile", import.meta.url));
  for (const [, target] of readme.matchAll(/`make ([a-z0-9]+)`/g)) {
    assertMatch(makefile, new RegExp(`^${target}:`, "m"));
  }
});
