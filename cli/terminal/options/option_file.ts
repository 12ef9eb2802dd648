/**
 * A file of a node's options in TOML: `orchestrator = "ws://…"`. It becomes command-line words, so that one parser
 * checks both. The command line overrides it.
 */

import { showValue } from "../../../core/config/knob.ts";
import { closest, parseOptions } from "./args.ts";
import { commonOptions, type OptionSpec } from "../command.ts";
import { type ConfigFile, readConfigFile } from "./config_file.ts";
import { UserError } from "../../program/errors.ts";

const notInFiles = new Set(["config", "help", "json", "quiet", "verbose", "no-color", "log-level", "log-format"]); // parsed earlier

export function fileOptions(options: readonly OptionSpec[]): OptionSpec[] {
  return [...options, ...commonOptions].filter(({ name }) => !notInFiles.has(name));
}

export async function wordsOfFile(
  path: string,
  { program, command, options }: { program: string; command: string; options: readonly OptionSpec[] },
): Promise<string[]> {
  const file = await readConfigFile(path, { makes: command === "validate" ? command : "miner" });
  const { mustHoldOptions } = await import("./file_kind.ts");
  mustHoldOptions(file, { program, command, options: fileOptions(options) });
  const problems = optionProblems(file, options);
  if (problems.length > 0) {
    const lines = problems.map(({ line, text }) => `${path}:${line}: ${text}`);
    throw new UserError(lines.join("\n"), {
      next: problems.length === 1 ? "Correct that line" : "Correct these lines",
    });
  }
  return fileOptions(options).flatMap((spec) => wordsOfEntry(spec, file.table[spec.name]) ?? []);
}

interface OptionProblem {
  readonly line: number;
  readonly text: string;
}

export function optionProblems(file: ConfigFile, options: readonly OptionSpec[]): OptionProblem[] {
  const specs = new Map(fileOptions(options).map((spec) => [spec.name, spec]));
  return Object.entries(file.table).flatMap(([name, value]) => {
    const text = entryProblem(specs, { name, value });
    return text === null ? [] : [{ line: file.lineOf(name) ?? 1, text }];
  }).sort((a, b) => a.line - b.line);
}

function entryProblem(specs: ReadonlyMap<string, OptionSpec>, entry: { name: string; value: unknown }): string | null {
  const { name, value } = entry;
  const spec = specs.get(name);
  if (spec === undefined) {
    const guess = closest(name, [...specs.keys()]);
    return `This command has no option ${name}${guess === undefined ? "" : `: did you mean ${guess}?`}`;
  }
  return valueProblem(spec, { value, shownAs: name });
}

/** `shownAs`: its name in the file. Null: no problem. */
export function valueProblem(
  spec: OptionSpec,
  { value, shownAs }: { value: unknown; shownAs: string },
): string | null {
  const words = wordsOfEntry(spec, value);
  if (words === null) {
    const rule = spec.kind === "boolean" ? "true or false" : "a text or a number";
    return `${shownAs} must be ${rule}, but is ${showValue(value)}`;
  }
  try {
    parseOptions({ words, options: [spec], maxPositionals: 0, helpCommand: "the help" });
    return null;
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    return error.message.replace(`--${spec.name}`, shownAs);
  }
}

/** Null: no option has values of this kind. */
export function wordsOfEntry({ name, kind }: OptionSpec, value: unknown): string[] | null {
  if (value === undefined) return [];
  if (kind === "boolean") return typeof value === "boolean" ? value ? [`--${name}`] : [] : null;
  return typeof value === "string" || typeof value === "number" ? [`--${name}=${value}`] : null;
}
