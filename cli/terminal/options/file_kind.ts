/** Whether a settings file is a run's or a node's: a run's has tables, or settings that only runs have. */

import { isKnobPath, knobGroups } from "../../../core/config/knobs.ts";
import type { OptionSpec } from "../command.ts";
import type { ConfigFile } from "./config_file.ts";
import { UserError } from "../../program/errors.ts";
import { chainOptions } from "./named_chain.ts";
import { nodeOptions } from "./node_options.ts";
import { shellWord } from "../../program/shell_words.ts";

export const filePurposes = ["run", "miner", "validate"] as const;
export type FilePurpose = typeof filePurposes[number];

type Table = Readonly<Record<string, unknown>>;

export function isRunFile(table: Table): boolean {
  return Object.entries(table).some(([name, value]) => isKnobPath(name) || knobGroups.includes(name) || isTable(value));
}

const isTable = (value: unknown) => typeof value === "object" && value !== null;

export function mustHoldOptions(
  { path, table }: ConfigFile,
  { program, command, options }: { program: string; command: string; options: readonly OptionSpec[] },
): void {
  const own = new Set(options.map(({ name }) => name));
  const foreign = Object.entries(table).filter(([name, value]) => !own.has(name) || isTable(value));
  if (!isRunFile(Object.fromEntries(foreign))) return;
  const makes = command === "miner" || command === "validate";
  throw new UserError(
    `Cannot use '${path}' with ${program} ${command}: it holds the settings of a run (${shown(foreign)}), ` +
      "not options of that command",
    {
      next: makes
        ? `Make a file of options: iota config init --for ${command} ${command}.toml`
        : `See the options: ${program} help ${command}`,
    },
  );
}

export function mustHoldRun({ path, table }: ConfigFile): void {
  const names = new Set([...nodeOptions, ...chainOptions].map(({ name }) => name));
  if (isRunFile(table) || !Object.keys(table).some((name) => names.has(name))) return;
  throw new UserError(
    `Cannot use '${path}' for a run: it holds the options of a node (${shown(Object.entries(table))}), ` +
      "not the settings of a run",
    { next: `Start the node with it: iota miner --config ${shellWord(path)}` },
  );
}

const mostShown = 3;

function shown(entries: readonly (readonly [string, unknown])[]): string {
  const names = entries.map(([name, value]) => isTable(value) ? `[${name}]` : name);
  return names.length <= mostShown ? names.join(", ") : `${names.slice(0, mostShown).join(", ")}, …`;
}
