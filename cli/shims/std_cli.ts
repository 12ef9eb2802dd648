/**
 * `parseArgs` of `@std/cli` for what our commands use, with the same call shape, over `node:util`'s tokens.
 *
 * The genuine package lives on a registry that not every build machine reaches; `jsr.json` is a second import map that
 * puts it in place of this.
 */

import { parseArgs as tokenize } from "node:util";

export interface ParseOptions {
  /** Options without a value; `false` when absent. */
  boolean?: readonly string[];
  /** Options with a value; undefined when absent. */
  string?: readonly string[];
  /** Options that may come several times; `[]` when absent. The last value of any other option wins. */
  collect?: readonly string[];
  alias?: Record<string, readonly string[]>;
  /** Called for each argument that nothing above declares; returning false drops it. */
  unknown?: (argument: string, key?: string, value?: unknown) => unknown;
}

export type Args = Record<string, unknown> & { _: (string | number)[] };

export function parseArgs(args: readonly string[], options: ParseOptions = {}): Args {
  const { boolean = [], string = [], collect = [], alias = {}, unknown = () => true } = options;
  const groups = Object.entries(alias).map(([name, others]) => [name, ...others]);
  const namesOf = (name: string) => groups.find((group) => group.includes(name)) ?? [name];
  const [flags, texts, lists] = [boolean, string, collect].map((names) => new Set(names.flatMap(namesOf)));
  const values: Args = { _: [] };
  const set = (name: string, value: unknown) => namesOf(name).forEach((each) => values[each] = value);
  for (const name of flags!) values[name] = false;
  for (const name of lists!) values[name] = [];
  const { tokens } = tokenize({ args: [...args], strict: false, allowPositionals: true, tokens: true });
  for (let i = 0; i < tokens.length; i++) {
    const token = tokens[i]!;
    if (token.kind === "option-terminator") {
      values._.push(...args.slice(token.index + 1));
      break;
    }
    if (token.kind === "positional") {
      if (unknown(token.value) !== false) values._.push(token.value);
      continue;
    }
    const { name } = token;
    const isFlag = flags!.has(name);
    let value = token.value === undefined ? undefined : String(token.value);
    const next = tokens[i + 1];
    const takesNext = value === undefined && next?.kind === "positional" && next.index === token.index + 1;
    if (takesNext && (!isFlag || next.value === "true" || next.value === "false")) {
      value = next.value;
      i += 1;
    }
    const read = isFlag ? value !== "false" : value ?? (texts!.has(name) ? "" : true);
    const isDeclared = isFlag || texts!.has(name) || lists!.has(name);
    if (!isDeclared && unknown(args[token.index] ?? token.rawName, name, read) === false) continue;
    set(name, lists!.has(name) ? [...values[name] as unknown[], read] : read);
  }
  return values;
}
