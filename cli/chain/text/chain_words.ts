/** Blocks, amounts, tables and next commands as text for people. */

import { UsageError } from "../../program/errors.ts";
import { cut, padEnd, padStart, plural, roughly } from "../../terminal/text/format.ts";
import type { OptionValues } from "../../terminal/command.ts";
import { shellWord } from "../../program/shell_words.ts";

const amountPattern = /^(\d{1,12})(?:\.(\d{1,9}))?$/;

export function parseTokens(text: string, option: string): bigint {
  const parts = amountPattern.exec(text);
  if (parts !== null) return BigInt(parts[1]! + (parts[2] ?? "").padEnd(9, "0"));
  throw new UsageError(
    `--${option} must be an amount such as 0.5, with at most 9 decimals, but is '${text}'`,
    {
      next: `Pass it in TAO: --${option} 0.5`,
    },
  );
}

export function blocksText(blocks: number, blockMs: number): string {
  return `${plural(blocks, "block")} (${roughly(blocks * blockMs)})`;
}

export function inBlocks(blocks: number, blockMs: number): string {
  return blocks <= 0 ? "now" : `in ${blocksText(blocks, blockMs)}`;
}

export interface Column<Row> {
  readonly title: string;
  readonly align: "left" | "right";
  readonly width?: number; // longer text is cut
  text(row: Row): string;
}

/** Columns are as wide as their longest text, two spaces apart. */
export function alignedTable<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): string[] {
  const cells = columns.map(({ title, width = Infinity, text }) =>
    [title, ...rows.map(text)].map((each) => width === Infinity ? each : cut(each, width))
  );
  const widths = cells.map((column) => Math.max(...column.map((text) => [...text].length)));
  return [...Array(rows.length + 1).keys()].map((row) =>
    cells.map((column, i) => (columns[i]!.align === "left" ? padEnd : padStart)(column[row]!, widths[i]!)).join("  ")
      .trimEnd()
  );
}

export function namedLines(
  rows: readonly (readonly [name: string, value: string])[],
  paintName: (name: string) => string,
): string[] {
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, value]) => `${paintName(name.padEnd(width))}  ${value}`);
}

/** Repeated if they were typed. */
const repeated = ["endpoint", "netuid", "mechanism", "wallet", "hotkey", "wallet-path", "data"] as const;

/** `register` becomes `iota chain register --endpoint local`. */
export type CommandTo = (words: string) => string;

export function nextCommand(options: OptionValues, words: string): string {
  const known = repeated.filter((name) => mayHave(words, name) && options.given(name));
  return ["iota chain", words, ...known.map((name) => `--${name} ${shellWord(valueOf(options, name))}`)].join(" ");
}

/** A node knows its chain and hotkey, but not the wallet whose coldkey pays. */
export function nodeCommand(of: { network: string; netuid: number; hotkey: string }): CommandTo {
  return (words) =>
    `iota chain ${words} --netuid ${of.netuid} --endpoint ${shellWord(of.network)}` +
    (mayHave(words, "hotkey") ? ` --hotkey ${shellWord(of.hotkey)}` : "");
}

/** Completes the commands, such as `iota chain register` in backticks, in a sentence of the chain's client. */
export function withWholeCommands(sentence: string, commandTo: CommandTo): string {
  return sentence.replaceAll(/`iota chain ([a-z][a-z0-9 .-]*)`/g, (_, words: string) => commandTo(words));
}

/** Actions that only query a subnet take no wallet. */
function mayHave(words: string, name: typeof repeated[number]): boolean {
  const [action] = words.split(" ");
  if (name === "mechanism") return ["weights", "commit", "status"].includes(action!);
  if (name === "endpoint" || name === "netuid" || name === "data") return true;
  return action !== "metagraph" && action !== "params";
}

const valueOf = (options: OptionValues, name: typeof repeated[number]): string =>
  name === "netuid" || name === "mechanism" ? String(options.number(name)) : options.text(name) ?? "";
