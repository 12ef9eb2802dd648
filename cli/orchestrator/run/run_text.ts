/**
 * `run.toml`: a run's settings with origins and changes, for people. It can be given as a configuration file;
 * `run.json` (saved_run.ts) is authoritative.
 */

import { describeChange, type SettingChange } from "../../../core/settings/change.ts";
import type { RunConfig } from "../../../core/config/config.ts";
import { describeConfig, describeSetting } from "../../../core/settings/describe.ts";
import type { StartModel } from "../../../core/ledger/entry.ts";
import type { KnobPath } from "../../../core/config/knob.ts";
import { knobPaths } from "../../../core/config/knobs.ts";
import { readIfPresent, realDisk, writeAtomically } from "../../files/disk.ts";

const header = [
  "# The settings of this run and their origins. Written by iota and read by people only: to change a setting,",
  "# start the orchestrator again with your own file (--config FILE) or with --set.",
];

/** `from`: the model whose parameters the run began with. */
export function runText(
  config: RunConfig,
  origins: Readonly<Record<KnobPath, string>>,
  from: StartModel | null = null,
): string {
  const began = from === null ? [] : [`# It began with the model '${from.name}', parameters ${from.parameters}.`];
  return `${[...header, ...began, ...describeConfig(config, origins)].join("\n")}\n`;
}

export function restoredRunText(config: RunConfig, from: StartModel | null = null): string {
  const origins = Object.fromEntries(knobPaths.map((path) => [path, "restored"])) as Record<KnobPath, string>;
  return runText(config, origins, from);
}

/** A damaged file may be empty. */
export function isRunText(text: string): boolean {
  return text.trim() === "" || text.startsWith(header[0]!.slice(0, header[0]!.indexOf(".")));
}

export function changedRunText(
  text: string,
  { config, changes, step }: { config: RunConfig; changes: readonly SettingChange[]; step: number },
): string {
  const changed = new Map<string, SettingChange>(changes.map((change) => [change.path, change]));
  let table = "";
  const lines = text.trimEnd().split("\n").map((line) => {
    table = /^\s*\[([^\]]*)\]/.exec(line)?.[1] ?? table;
    const key = /^\s*(\w+)\s*=/.exec(line)?.[1];
    const change = changed.get(table === "" ? `${key}` : `${table}.${key}`);
    return change === undefined
      ? line
      : describeSetting(config, { path: change.path, origin: `changed at step ${step}` });
  });
  const history = changes.map((change) => `# Changed at step ${step}: ${describeChange(change)}`);
  return `${[...lines, ...history].join("\n")}\n`;
}

export async function writeRunText(folder: string, text: string): Promise<void> {
  await writeAtomically(pathOf(folder), { disk: realDisk, chunks: [new TextEncoder().encode(text)] });
}

export async function readRunText(folder: string): Promise<string> {
  const bytes = await readIfPresent(pathOf(folder));
  return bytes === null ? "" : new TextDecoder().decode(bytes);
}

const pathOf = (folder: string): string => `${folder}/run.toml`;
