/**
 * `iota config init`: writes a starter file with every setting as a comment that has its value and meaning. It passes
 * `iota config check`.
 */

import { assert } from "../../../core/assert.ts";
import type { RunConfig } from "../../../core/config/config.ts";
import { valueAt } from "../../../core/settings/derive.ts";
import { type KnobPath, tomlValue } from "../../../core/config/knob.ts";
import { knobPaths } from "../../../core/config/knobs.ts";
import { resolveConfig } from "../../../core/settings/parse.ts";
import { modelParameters } from "../../../core/model/shape.ts";
import { systemTimers } from "../../../net/timers.ts";
import type { Command, CommandContext, OptionSpec } from "../../terminal/command.ts";
import { expandHome } from "../../program/paths.ts";
import { realDisk, writeAtomically } from "../../files/disk.ts";
import { attempting, UsageError, UserError } from "../../program/errors.ts";
import { hubOptions, hubTable, settingName } from "../../terminal/options/hub_options.ts";
import { fileOptions } from "../../terminal/options/option_file.ts";
import { exists } from "../../files/run_folder.ts";
import { short } from "../../terminal/text/format.ts";
import { shellWord } from "../../program/shell_words.ts";
import { isRight, nodeCommand, purposeOf } from "./check_config.ts";
import { meaningOf } from "./meaning.ts";

export async function initConfig(context: CommandContext, nowMs = systemTimers.nowMs()): Promise<number> {
  const { options, output, positionals } = context;
  const purpose = purposeOf(context) ?? "run";
  if (purpose !== "run" && options.given("size")) {
    throw new UsageError("--size does not apply to a node's file: the run decides it", { next: "Leave it out" });
  }
  if (positionals[0] === "-") {
    throw new UsageError("This command writes a file, not standard output", {
      next: "Name it: iota config init run.toml; to see the settings: iota config show",
    });
  }
  const path = positionals[0] !== undefined
    ? expandHome(positionals[0], context.environment)
    : (purpose === "run" ? "run.toml" : `${purpose}.toml`);
  const isThere = await attempting({ action: "look for the file", value: path }, () => exists(path));
  if (isThere && !options.flag("force")) {
    throw new UserError(`'${path}' already exists`, {
      next: "Pass another name, or replace it: --force",
    });
  }
  const text = purpose === "run"
    ? runFileText(named(configOf(options.text("size")), nowMs))
    : nodeFileText(await nodeCommand(purpose, context.commands));
  assert(await isRight(text, { purpose, commands: context.commands }), "A generated file passes the check");
  await writeAtomically(path, { disk: realDisk, chunks: [new TextEncoder().encode(text)] }).catch((error) => {
    throw withoutData(error);
  });
  const use = purpose === "run" ? "iota orchestrate" : `iota ${purpose}`;
  output.answer({ path, purpose }, `Wrote ${path}. Edit it, then run: ${use} --config ${shellWord(path)}`);
  return 0;
}

/** The command line names the file's folder, so --data would change nothing. */
export function withoutData(error: unknown): unknown {
  if (!(error instanceof UserError) || error.next?.includes("--data") !== true) return error;
  return new UserError(error.message, { next: "Name a file in a folder on another disk", cause: error.cause });
}

/** Without --data, the name decides the run's folder, so each file begins its own run. */
function named(config: RunConfig, nowMs: number): RunConfig {
  const stamp = new Date(nowMs).toISOString().replaceAll(/[-:]|\.\d+Z$/g, "").replace("T", "-");
  return { ...config, name: `${config.size}-${stamp}` };
}

function configOf(size: string | undefined): RunConfig {
  const resolved = resolveConfig(size === undefined ? {} : { size });
  if (resolved.ok) return resolved.config;
  throw new UsageError(resolved.problems[0]!.text, { next: "For example: iota config init --size small" });
}

/** All other settings are comments. */
const active: readonly KnobPath[] = ["name", "size", "swarm.replicas"];

function runFileText(config: RunConfig): string {
  const lines = [
    `# Settings of a run of size ${config.size}: ${short(modelParameters(config.model))} parameters.`,
    "# A line that begins with # shows the value in a new run; an existing run keeps its own. Remove the # to set it.",
    "# The command line overrides this file.",
    "# Show all settings: iota config show --config FILE. Check the file: iota config check FILE",
    "",
  ];
  let table = "";
  for (const path of knobPaths) {
    const tableOfPath = path.slice(0, Math.max(path.indexOf("."), 0));
    if (tableOfPath !== table) lines.push("", `[${tableOfPath}]`);
    table = tableOfPath;
    const setting = `${path.slice(path.indexOf(".") + 1)} = ${tomlValue(valueAt(config, path))}`;
    lines.push(commented(active.includes(path) ? setting : `# ${setting}`, meaningOf(path)));
  }
  lines.push("", `[${hubTable}]  # the options of iota orchestrate`);
  for (const spec of hubOptions) lines.push(commented(`# ${settingName(spec)} = ${sampleOf(spec)}`, spec.doc));
  return `${lines.join("\n")}\n`;
}

function nodeFileText(command: Command): string {
  return `${
    [
      `# Options of iota ${command.name}: --name VALUE is name = "VALUE" here. The command line overrides this file.`,
      "# A line that begins with # sets nothing. Check the file: iota config check FILE",
      "",
      ...fileOptions(command.options).map((spec) => {
        const isActive = spec.name === "wallet"; // the run is found by itself
        return commented(`${isActive ? "" : "# "}${spec.name} = ${sampleOf(spec)}`, spec.doc);
      }),
    ].join("\n")
  }\n`;
}

function sampleOf(spec: OptionSpec): string {
  if (spec.default !== undefined) return tomlValue(spec.default);
  if (spec.kind === "boolean") return "false";
  if (spec.kind === "choice") return tomlValue(spec.choices[0]!);
  return spec.kind === "string" ? tomlValue(spec.placeholder) : String(spec.min ?? 0);
}

const commentColumn = 38;

const commented = (setting: string, comment: string) => `${setting.padEnd(commentColumn)}  # ${comment}`;
