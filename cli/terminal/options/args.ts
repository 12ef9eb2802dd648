/** Parses a command line into typed options, with a message for every mistake. */

import { parseArgs } from "@std/cli";
import { editDistance } from "../../../core/settings/suggest.ts";
import { assert, present } from "../../../core/assert.ts";
import type { NumberOption, OptionSpec, OptionValue, OptionValues } from "../command.ts";
import { UsageError } from "../../program/errors.ts";

export interface ParsedArguments {
  readonly options: OptionValues;
  readonly positionals: readonly string[];
}

interface SplitWords {
  readonly name: string | undefined;
  readonly rest: readonly string[];
}

export function splitCommand(words: readonly string[], common: readonly OptionSpec[]): SplitWords {
  const takesValue = new Set(common.filter((spec) => spec.kind !== "boolean").map((spec) => `--${spec.name}`));
  for (let i = 0; i < words.length; i++) {
    const word = words[i]!;
    if (word === "--") break;
    if (!word.startsWith("-")) return { name: word, rest: [...words.slice(0, i), ...words.slice(i + 1)] };
    if (takesValue.has(word)) i += 1;
  }
  return { name: undefined, rest: words };
}

interface ParseRequest {
  readonly words: readonly string[];
  /** From files and the run, the strongest last; the words override it. @default nothing */
  readonly below?: readonly string[];
  readonly options: readonly OptionSpec[];
  readonly maxPositionals: number;
  readonly helpCommand: string; // "iota swarm --help", for the next step
  readonly expandPath?: (path: string) => string;
}

export function parseOptions(request: ParseRequest): ParsedArguments {
  const { words, below = [], options, maxPositionals, helpCommand, expandPath = (path) => path } = request;
  const next = `See ${helpCommand}`;
  const specs = new Map(options.map((spec) => [spec.name, spec]));
  const typed = parseWords(words, { specs, next });
  const lower = parseWords(below, { specs, next });
  const values = new Map<string, OptionValue>();
  for (const spec of options) {
    if (spec.kind === "boolean") {
      if (typed[spec.name] === true || lower[spec.name] === true) values.set(spec.name, true);
      continue;
    }
    const given = textsOf(typed[spec.name]);
    const before = textsOf(lower[spec.name]);
    if (!isList(spec) && new Set(given).size > 1) throw givenTwice(spec, { given, next });
    const value = isList(spec) ? [...before, ...given].join(",") : given.at(-1) ?? before.at(-1);
    if (value === undefined || before.length + given.length === 0) continue;
    const read = readValue(spec, value, next);
    values.set(spec.name, isPathOption(spec) && typeof read === "string" ? expandPath(read) : read);
  }
  const positionals = typed._.map(String);
  if (positionals.length > maxPositionals) {
    const extra = positionals[maxPositionals]!;
    throw new UsageError(`Unexpected '${extra}': this command takes ${counted(maxPositionals)} besides its options`, {
      next,
    });
  }
  return { options: optionValues(specs, values), positionals };
}

interface Words extends Readonly<Record<string, unknown>> {
  readonly _: readonly (string | number)[];
}

const textsOf = (given: unknown): string[] => Array.isArray(given) ? given.map(String) : [];

function parseWords(
  words: readonly string[],
  { specs, next }: { specs: Map<string, OptionSpec>; next: string },
): Words {
  const valued = [...specs.values()].filter((spec) => spec.kind !== "boolean").map((spec) => spec.name);
  return parseArgs(joinNegativeValues(words, specs), {
    boolean: [...specs.values()].filter((spec) => spec.kind === "boolean").map((spec) => spec.name),
    string: ["_", ...valued],
    collect: valued,
    alias: { help: ["h"] },
    unknown: (word, key) => {
      if (key === undefined || word === "-") return true;
      throw unknownOption(word.replace(/=.*$/s, ""), { specs, next });
    },
  });
}

function givenTwice({ name }: OptionSpec, { given, next }: { given: readonly string[]; next: string }): UsageError {
  const values = [...new Set(given)].map((value) => `'${value}'`).join(" and ");
  return new UsageError(`--${name} is given twice with different values: ${values}`, { next });
}

/** Its entries add up when repeated. */
const isList = (spec: OptionSpec) => spec.kind === "string" && spec.placeholder.endsWith(",…");

const pathPlaceholders: ReadonlySet<string> = new Set(["FILE", "DIR", "PATH"]);

export function isPathOption(spec: OptionSpec): boolean {
  return spec.kind === "string" && (pathPlaceholders.has(spec.placeholder) || spec.name === "corpus");
}

export function closest(word: string, candidates: readonly string[]): string | undefined {
  const limit = word.length <= 4 ? 1 : 2;
  const near = candidates
    .map((candidate) => ({ candidate, distance: editDistance(word, candidate) }))
    .filter(({ candidate, distance }) => distance <= limit || (word.length >= 3 && candidate.startsWith(word)))
    .sort((a, b) => a.distance - b.distance);
  return near[0]?.candidate;
}

export const meantText = (guess: string | null | undefined): string =>
  guess === undefined || guess === null ? "" : `. Did you mean ${guess}?`;

function unknownOption(word: string, { specs, next }: { specs: Map<string, OptionSpec>; next: string }): UsageError {
  const name = word.replace(/^-+/, "");
  const guess = closest(name, [...specs.keys()]) ?? meantByValue(name, [...specs.values()]);
  const meant = meantText(guess === undefined ? null : `--${guess}`);
  return new UsageError(`This command has no option ${word}${meant}`, { next });
}

/** `--gpu` for `--device gpu`, or `--chain` where the help shows `--endpoint CHAIN`. */
function meantByValue(name: string, specs: readonly OptionSpec[]): string | undefined {
  const chosen = specs.find((spec) => spec.kind === "choice" && spec.choices.includes(name));
  if (chosen !== undefined) return `${chosen.name} ${name}`;
  if (name.length < 3) return undefined; // a unit, such as N
  const valued = specs.filter((spec) => spec.kind !== "boolean" && spec.placeholder.toLowerCase() === name);
  return valued.length === 1 ? valued[0]!.name : undefined;
}

/** `--seed -1` would read as two options; with `=` it is one. */
function joinNegativeValues(words: readonly string[], specs: Map<string, OptionSpec>): string[] {
  const joined: string[] = [];
  for (const word of words) {
    const before = joined.at(-1);
    const spec = before === undefined ? undefined : specs.get(before.slice(2));
    const takesIt = spec !== undefined && spec.kind !== "boolean" && before === `--${spec.name}`;
    if (takesIt && /^-[\d.]/.test(word)) joined[joined.length - 1] = `${before}=${word}`;
    else joined.push(word);
  }
  return joined;
}

function readValue(spec: OptionSpec, text: string, next: string): OptionValue {
  assert(spec.kind !== "boolean", "A flag has no value to read");
  if (text === "") {
    throw new UsageError(`--${spec.name} needs a value: --${spec.name} ${spec.placeholder}`, { next });
  }
  switch (spec.kind) {
    case "string":
      return text;
    case "choice": {
      if (spec.choices.includes(text)) return text;
      const meant = meantText(closest(text, spec.choices));
      throw wrongValue({ name: spec.name, rule: `one of ${spec.choices.join(", ")}`, text, next, meant });
    }
    case "int":
    case "float":
      return readNumber(spec, text, next);
  }
}

function readNumber(spec: NumberOption, text: string, next: string): number {
  const pattern = spec.kind === "int" ? /^[-+]?\d+$/ : /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i;
  const value = pattern.test(text) ? Number(text) : NaN;
  const exact = spec.kind === "int" ? Number.isSafeInteger(value) : Number.isFinite(value);
  const inside = value >= (spec.min ?? -Infinity) && value <= (spec.max ?? Infinity);
  if (exact && inside) return value;
  throw wrongValue({ name: spec.name, rule: numberRule(spec), text, next, meant: "" });
}

function numberRule({ kind, min, max }: NumberOption): string {
  const noun = kind === "int" ? "a whole number" : "a number";
  if (min !== undefined && max !== undefined) return `${noun} from ${min} to ${max}`;
  if (min !== undefined) return `${noun} of at least ${min}`;
  return max === undefined ? noun : `${noun} of at most ${max}`;
}

interface WrongValue {
  readonly name: string;
  readonly rule: string;
  readonly text: string;
  readonly meant: string;
  readonly next: string;
}

function wrongValue({ name, rule, text, meant, next }: WrongValue): UsageError {
  return new UsageError(`--${name} must be ${rule}, but is '${text}'${meant}`, { next });
}

function counted(count: number): string {
  if (count === 0) return "nothing";
  return count === 1 ? "one word" : `${count} words`;
}

function optionValues(specs: Map<string, OptionSpec>, values: Map<string, OptionValue>): OptionValues {
  const read = (name: string, kinds: readonly OptionSpec["kind"][]): OptionValue | undefined => {
    const spec = present(specs.get(name), `Option --${name} is declared by its command`);
    assert(kinds.includes(spec.kind), `Option --${name} is read as its kind ${spec.kind}`);
    return values.get(name) ?? spec.default;
  };
  return {
    text: (name) => read(name, ["string", "choice"]) as string | undefined,
    number: (name) => read(name, ["int", "float"]) as number | undefined,
    flag: (name) => read(name, ["boolean"]) === true,
    given: (name) => values.has(name),
  };
}
