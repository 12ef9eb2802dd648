/**
 * What a person would paste from an error's next step, and whether the program takes it: the command exists, its options parse, its
 * files can be read.
 */

import { withCommands } from "../with_commands.ts";
import { main } from "../../../cli/command_line.ts";
import type { Command, CommandTable } from "../../../cli/terminal/command.ts";
import { commandTable } from "../../../cli/command_table.ts";
import { allOptions, everyCommand, loadTree } from "../../../cli/terminal/completions/command_tree.ts";
import { FakeHost } from "../fake_host.ts";

/** Whole commands: from `iota` up to where the sentence goes on. */
export function commandsIn(text: string): string[][] {
  const starts = [...text.matchAll(/\biota (?=[a-z])/g)].map(({ index }) => index);
  return starts.map((start, i) => wordsOf(text.slice(start, starts[i + 1]))).filter((words) => words.length > 0);
}

/** Options that must be added to what was typed: `--resume`, `--stages 4`. */
export async function optionsIn(text: string): Promise<string[][]> {
  const outside = text.replaceAll(/\biota [a-z].*?(?=[;)]|, or|$)/gm, "");
  const options = new Map(
    everyCommand(await loadTree(commandTable)).flatMap(allOptions).map((spec) => [spec.name, spec]),
  );
  return [...outside.matchAll(/--([a-z][a-z-]*)(?: ('[^']*'|"[^"]*"|[^\s;,)]+))?/g)].map(([, name, value]) => {
    const takesValue = options.get(name!)?.kind !== "boolean" && value !== undefined;
    return takesValue ? [`--${name}`, value.replace(/^['"]|['"]$|[.:]$/g, "")] : [`--${name}`];
  });
}

/** As a shell cuts them, without `iota`; ends where the sentence does or goes on. */
function wordsOf(text: string): string[] {
  const words: string[] = [];
  const pattern = /\s*('(?:[^'])*'|"[^"]*"|[^\s'"]+)/y;
  for (let match = pattern.exec(text); match !== null; match = pattern.exec(text)) {
    const word = match[1]!;
    if (/^['"]/.test(word)) {
      words.push(word.slice(1, -1));
      continue;
    }
    const bare = word.replace(/[;,):].*$|\.$/, "");
    const isAddress = word.includes("://");
    words.push(isAddress ? word : bare);
    if (!isAddress && bare !== word) break;
  }
  return words.slice(1).filter((word) => word !== "");
}

/** The exit code of a command line that is understood in full and then does nothing; 2: it is wrong. */
export async function understand(
  words: readonly string[],
  env: Record<string, string>,
): Promise<{ code: number; said: string }> {
  const host = new FakeHost({ env });
  const code = await main(words, host, withCommands(idle(commandTable)));
  return { code, said: host.written.stderr };
}

function idle(table: CommandTable): CommandTable {
  const entries = Object.entries(table).map(([name, load]) => {
    const loadIdle = async (): Promise<Command> => {
      const command = await load();
      const actions = command.actions === undefined ? {} : { actions: idle(command.actions) };
      return { ...command, ...actions, run: () => Promise.resolve(0) };
    };
    return [name, loadIdle] as const;
  });
  return Object.fromEntries(entries);
}
