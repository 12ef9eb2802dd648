/**
 * A run's whole TOML file: its settings, and in [hub] its orchestrator's options, as command-line words for the one
 * parser.
 */

import { showValue } from "../../../core/config/knob.ts";
import { isKnobPath, knobGroups, knobPaths } from "../../../core/config/knobs.ts";
import { type Problem, resolveConfig, type ResolvedConfig, type ResolveInput } from "../../../core/settings/parse.ts";
import { didYouMean } from "../../../core/settings/suggest.ts";
import type { OptionSpec } from "../command.ts";
import { type ConfigFile, placeProblems, readConfigFile } from "./config_file.ts";
import { UserError } from "../../program/errors.ts";
import { hubOptions, hubTable, settingName } from "./hub_options.ts";
import { valueProblem, wordsOfEntry } from "./option_file.ts";
import { shellWord } from "../../program/shell_words.ts";

type Table = Readonly<Record<string, unknown>>;

export function runPart({ [hubTable]: _, ...rest }: Table): Table {
  return Object.fromEntries(Object.entries(rest).filter(([name]) => misplacedHubSetting(name) === null));
}

const hubPaths = hubOptions.map((spec) => `${hubTable}.${settingName(spec)}`);

/** Even if misspelt; null: none. */
function misplacedHubSetting(name: string): string | null {
  if (isKnobPath(name) || knobGroups.includes(name)) return null;
  const option = hubOptions.find((spec) => spec.name === name);
  if (option !== undefined) return `${hubTable}.${settingName(option)}`;
  const near = didYouMean<string>(name, [...hubPaths, ...knobPaths]);
  return near !== null && hubPaths.includes(near) ? near : null;
}

/** Empty: absent or not a table. */
export function hubPart(table: Table): ReadonlyMap<OptionSpec, unknown> {
  const hub = table[hubTable];
  if (!isTable(hub)) return new Map();
  const set = hubOptions.filter((spec) => Object.hasOwn(hub, settingName(spec)));
  return new Map(set.map((spec) => [spec, hub[settingName(spec)]]));
}

export function hubProblems(table: Table): Problem[] {
  const misplaced = Object.keys(table).flatMap((name): Problem[] => {
    const meant = name === hubTable ? null : misplacedHubSetting(name);
    const text = `There is no setting ${name} outside a table: did you mean ${meant}, in [${hubTable}]?`;
    return meant === null ? [] : [{ path: name, text, origin: "file" }];
  });
  const hub = table[hubTable];
  if (hub === undefined) return misplaced;
  if (!isTable(hub)) {
    const text = `[hub] must be a table, but is ${showValue(hub)}`;
    return [...misplaced, { path: hubTable, text, origin: "file" }];
  }
  const inside = Object.entries(hub).flatMap(([name, value]): Problem[] => {
    const text = settingProblem(name, value);
    return text === null ? [] : [{ path: `${hubTable}.${name}`, text, origin: "file" }];
  });
  return [...misplaced, ...inside];
}

function settingProblem(name: string, value: unknown): string | null {
  const path = `${hubTable}.${name}`;
  const spec = hubOptions.find((option) => settingName(option) === name);
  if (spec !== undefined) return valueProblem(spec, { value, shownAs: path });
  const near = didYouMean(path, hubPaths);
  return `There is no setting ${path}: ${
    near === null ? `[hub] has ${hubOptions.map(settingName).join(", ")}` : `did you mean ${near}?`
  }`;
}

export function resolveRunFile({ table, ...input }: Omit<ResolveInput, "file"> & { table: Table }): ResolvedConfig {
  const resolved = resolveConfig({ ...input, file: runPart(table) });
  const problems = hubProblems(table);
  if (problems.length === 0) return resolved;
  return { ok: false, problems: [...problems, ...resolved.ok ? [] : resolved.problems] };
}

/** They precede the typed words. A `UserError` lists every problem. */
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

export async function readRunFile(path: string | undefined): Promise<ConfigFile | null> {
  if (path === undefined) return null;
  const file = await readConfigFile(path);
  const { mustHoldRun } = await import("./file_kind.ts");
  mustHoldRun(file);
  return file;
}

function isTable(value: unknown): value is Table {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Date);
}
