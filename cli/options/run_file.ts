/**
 * A run's whole TOML file: the settings of the run, and in [hub] the options of its orchestrator.
 *
 * Owns: telling the two apart, the problems of both, and [hub] as command-line words, so that one parser checks both.
 * Out of scope: reading the file (config_file.ts), what a run's settings mean (core/config).
 */

import { showValue } from "../../core/config/knob.ts";
import { type Problem, resolveConfig, type ResolvedConfig, type ResolveInput } from "../../core/config/parse.ts";
import { didYouMean } from "../../core/config/suggest.ts";
import type { OptionSpec } from "../command.ts";
import { type ConfigFile, placeProblems, readConfigFile } from "./config_file.ts";
import { UserError } from "../output/errors.ts";
import { hubOptions, hubTable, settingName } from "./hub_options.ts";
import { valueProblem, wordsOfEntry } from "./option_file.ts";
import { shellWord } from "../shell_words.ts";

type Table = Readonly<Record<string, unknown>>;

/** Without [hub]: the input of `resolveConfig`. */
export function runPart({ [hubTable]: _, ...rest }: Table): Table {
  return rest;
}

/** What [hub] sets, by option; empty if it is absent or not a table. */
export function hubPart(table: Table): ReadonlyMap<OptionSpec, unknown> {
  const hub = table[hubTable];
  if (!isTable(hub)) return new Map();
  const set = hubOptions.filter((spec) => Object.hasOwn(hub, settingName(spec)));
  return new Map(set.map((spec) => [spec, hub[settingName(spec)]]));
}

export function hubProblems(table: Table): Problem[] {
  const hub = table[hubTable];
  if (hub === undefined) return [];
  if (!isTable(hub)) {
    const text = `Cannot use hub as it must be a table, [hub]: current value is ${showValue(hub)}`;
    return [{ path: hubTable, text, origin: "file" }];
  }
  return Object.entries(hub).flatMap(([name, value]): Problem[] => {
    const text = settingProblem(name, value);
    return text === null ? [] : [{ path: `${hubTable}.${name}`, text, origin: "file" }];
  });
}

function settingProblem(name: string, value: unknown): string | null {
  const path = `${hubTable}.${name}`;
  const spec = hubOptions.find((option) => settingName(option) === name);
  if (spec !== undefined) return valueProblem(spec, { value, shownAs: path });
  const names = hubOptions.map(settingName);
  const near = didYouMean(path, names.map((known) => `${hubTable}.${known}`));
  return `Cannot use ${path} as there is no such setting: ${
    near === null ? `[hub] has ${names.join(", ")}` : `did you mean ${near}?`
  }`;
}

/** Like `resolveConfig`, for a whole file. */
export function resolveRunFile({ table, ...input }: Omit<ResolveInput, "file"> & { table: Table }): ResolvedConfig {
  const resolved = resolveConfig({ ...input, file: runPart(table) });
  const problems = hubProblems(table);
  if (problems.length === 0) return resolved;
  return { ok: false, problems: [...problems, ...resolved.ok ? [] : resolved.problems] };
}

/** [hub] as words that go before the typed ones. A `UserError` lists every problem. */
export function wordsOfHub(file: ConfigFile): string[] {
  const problems = hubProblems(file.table);
  if (problems.length > 0) {
    const lines = placeProblems({ problems, file });
    throw new UserError(lines.join("\n"), {
      next: `See every problem of the file: iota config check ${shellWord(file.path)}`,
    });
  }
  return [...hubPart(file.table)].flatMap(([spec, value]) => wordsOfEntry(spec, value) ?? []);
}

/** The --config file, for a command that takes a run's. */
export async function readRunFile(path: string | undefined): Promise<ConfigFile | null> {
  if (path === undefined) return null;
  const file = await readConfigFile(path);
  const { mustHoldRun } = await import("../config/file_kind.ts");
  mustHoldRun(file);
  return file;
}

function isTable(value: unknown): value is Table {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Date);
}
