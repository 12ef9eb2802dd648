/**
 * `parseArgs` of `@std/cli` for what our commands use, with the same call shape, over `node:util`'s tokens.
 *
 * Exists because the genuine package lives on a registry that not every build machine reaches; `jsr.json` is a second
 * import map that puts the genuine one in its place. Left out on purpose: dotted names, `boolean: true`, default
 * objects nested by dots. Values of declared string options stay strings; a command parses its own numbers.
 */

import { parseArgs as tokenize } from "node:util";

type OneOrMany<Name extends string> = Name | readonly Name[];

export interface ParseOptions<
  Booleans extends string = string,
  Strings extends string = string,
  Collected extends string = string,
  Defaults extends Record<string, unknown> = Record<string, unknown>,
> {
  /** Options without a value; `false` when absent. */
  boolean?: OneOrMany<Booleans>;
  /** Options with a value; undefined when absent. */
  string?: OneOrMany<Strings>;
  /** Options that may come several times; `[]` when absent. The last value of any other option wins. */
  collect?: OneOrMany<Collected>;
  /** Options that `--no-<name>` sets to false. */
  negatable?: OneOrMany<string>;
  alias?: Record<string, OneOrMany<string>>;
  default?: Defaults;
  /** Put what follows `--` into `args["--"]` instead of `args._`. */
  "--"?: boolean;
  /** Put everything from the first non-option on into `args._` unparsed. */
  stopEarly?: boolean;
  /** Called for each argument that nothing above declares; returning false drops it. */
  unknown?: (argument: string, key?: string, value?: unknown) => unknown;
}

type Flag<Key extends PropertyKey, Defaults, Given> = Key extends keyof Defaults ? Given | Defaults[Key]
  : Given | undefined;

/** The parsed command line: declared options by name and alias, the rest in `_`. */
export type Args<
  Booleans extends string,
  Strings extends string,
  Collected extends string,
  Defaults extends Record<string, unknown>,
> =
  & { [Key in Exclude<Booleans, Collected>]: boolean }
  & { [Key in Exclude<Strings, Collected>]: Flag<Key, Defaults, string> }
  & { [Key in Collected]: string[] }
  & { _: (string | number)[]; "--"?: string[] }
  & Record<string, unknown>;

function list(names: OneOrMany<string> | undefined): string[] {
  if (names === undefined) return [];
  return typeof names === "string" ? [names] : [...names];
}

/** Every name of an option maps to all of them, itself first. */
function nameGroups(alias: Record<string, OneOrMany<string>>): Map<string, string[]> {
  const groups = new Map<string, string[]>();
  for (const [key, others] of Object.entries(alias)) {
    const all = [key, ...list(others)];
    for (const name of all) groups.set(name, [name, ...all.filter((other) => other !== name)]);
  }
  return groups;
}

function numberWhenItLooksLikeOne(text: string): string | number {
  return /^[-+]?(0x[0-9a-f]+|(\d+(\.\d*)?|\.\d+)(e[-+]?\d+)?)$/i.test(text) ? Number(text) : text;
}

/** The parser's working state for one command line. */
class CommandLine {
  readonly values: Record<string, unknown> = {};
  readonly positionals: (string | number)[] = [];
  readonly #options: ParseOptions;
  readonly #groups: Map<string, string[]>;
  readonly #booleans: Set<string>;
  readonly #strings: Set<string>;
  readonly #collected: Set<string>;
  readonly #negatable: Set<string>;

  constructor(options: ParseOptions) {
    this.#options = options;
    this.#groups = nameGroups(options.alias ?? {});
    const named = (names: OneOrMany<string> | undefined) => new Set(list(names).flatMap((name) => this.#names(name)));
    this.#booleans = named(options.boolean);
    this.#strings = named(options.string);
    this.#collected = named(options.collect);
    this.#negatable = named(options.negatable);
    for (const name of this.#booleans) this.values[name] = false;
    for (const [name, value] of Object.entries(options.default ?? {})) this.#assign(name, value);
  }

  #names(name: string): string[] {
    return this.#groups.get(name) ?? [name];
  }

  #assign(name: string, value: unknown): void {
    for (const each of this.#names(name)) this.values[each] = value;
  }

  isBoolean(name: string): boolean {
    return this.#booleans.has(name);
  }

  negated(name: string): string | null {
    const positive = name.startsWith("no-") ? name.slice(3) : "";
    return this.#negatable.has(positive) ? positive : null;
  }

  addPositional(text: string): void {
    if (this.#options.unknown?.(text) === false) return;
    this.positionals.push(this.#strings.has("_") ? text : numberWhenItLooksLikeOne(text));
  }

  setNegated(name: string): void {
    this.#assign(name, false);
  }

  setOption(option: { raw: string; name: string; value: string | undefined }): void {
    const { name, value } = option;
    const collected = this.#collected.has(name);
    const declared = this.#booleans.has(name) || this.#strings.has(name) || collected || this.#groups.has(name);
    let final: unknown = value ?? true;
    if (this.#booleans.has(name)) final = value !== "false";
    else if (this.#strings.has(name)) final = value ?? "";
    else if (value !== undefined) final = numberWhenItLooksLikeOne(value);
    if (!declared && this.#options.unknown?.(option.raw, name, final) === false) return;
    if (!collected) return this.#assign(name, final);
    const earlier = this.values[name];
    this.#assign(name, Array.isArray(earlier) ? [...earlier, final] : [final]);
  }

  finish(): void {
    for (const name of this.#collected) this.values[name] ??= [];
  }
}

/** See `@std/cli/parse-args`: flags by name, the rest in `_`, each option with all its aliases. */
export function parseArgs<
  const Booleans extends string = never,
  const Strings extends string = never,
  const Collected extends string = never,
  Defaults extends Record<string, unknown> = Record<never, never>,
>(
  args: readonly string[],
  options: ParseOptions<Booleans, Strings, Collected, Defaults> = {},
): Args<Booleans, Strings, Collected, Defaults> {
  const line = new CommandLine(options as ParseOptions);
  const { tokens } = tokenize({ args: [...args], strict: false, allowPositionals: true, tokens: true });
  let rest: string[] = [];
  for (let i = 0; i < tokens.length; i++) {
    const token = tokens[i]!;
    if (token.kind === "option-terminator") {
      rest = args.slice(token.index + 1);
      break;
    }
    if (token.kind === "positional") {
      if (options.stopEarly === true) {
        rest = args.slice(token.index);
        break;
      }
      line.addPositional(token.value);
      continue;
    }
    const positive = token.rawName.startsWith("--") ? line.negated(token.name) : null;
    if (positive !== null) {
      line.setNegated(positive);
      continue;
    }
    let value = token.value === undefined ? undefined : String(token.value);
    const next = tokens[i + 1];
    const takesNext = value === undefined && next?.kind === "positional" && next.index === token.index + 1;
    if (takesNext && (!line.isBoolean(token.name) || next.value === "true" || next.value === "false")) {
      value = next.value;
      i += 1;
    }
    line.setOption({ raw: args[token.index] ?? token.rawName, name: token.name, value });
  }
  line.finish();
  if (options["--"] !== true) line.positionals.push(...rest);
  const result: Record<string, unknown> = { ...line.values, _: line.positionals };
  if (options["--"] === true) result["--"] = rest;
  return result as Args<Booleans, Strings, Collected, Defaults>;
}
