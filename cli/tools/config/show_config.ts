/**
 * `iota config show`: every setting of a new run and of its orchestrator, and each value's origin. The output gives the
 * same configuration as a file.
 */

import type { RunConfig } from "../../../core/config/config.ts";
import { valueAt } from "../../../core/settings/derive.ts";
import { originOfSized } from "../../../core/settings/describe.ts";
import { type KnobPath, type KnobValue, tomlValue } from "../../../core/config/knob.ts";
import { knobPaths } from "../../../core/config/knobs.ts";
import type { Origins } from "../../../core/settings/parse.ts";
import type { CommandContext, OptionSpec, OptionValues } from "../../terminal/command.ts";
import { type ConfigFile, readConfigFile } from "../../terminal/options/config_file.ts";
import { hubOptions, hubTable, settingName } from "../../terminal/options/hub_options.ts";
import { hubPart } from "../../terminal/options/run_file.ts";
import { givenOption, resolveRun } from "../../terminal/options/run_options.ts";
import { meaningOf } from "./meaning.ts";
import { cut } from "../../terminal/text/format.ts";

export async function showConfig(context: CommandContext): Promise<number> {
  const { options, output } = context;
  const { config, origins } = await resolveRun(context);
  const path = options.text("config");
  const file = path === undefined ? null : await readConfigFile(path);
  const paths = knobPaths.filter((path) => !options.flag("changed") || isChosen(origins, path));
  const sourceOf = (path: KnobPath) => sourceText(path, { config, origins, file, options });
  for (const path of paths) {
    const source = { origin: origins[path], line: origins[path] === "file" ? file?.lineOf(path) ?? null : null };
    output.event({ type: "setting", path, value: valueAt(config, path), ...source });
  }
  const columns = output.mode === "live" ? output.columns : Infinity; // a file keeps every word
  const hub = hubSettings(file, { onlyChosen: options.flag("changed") });
  for (const { path, value, line } of hub) {
    output.event({ type: "setting", path, value, origin: line === null ? "default" : "file", line });
  }
  const lines = [...configLines({ config, paths, sourceOf, columns }), ...hubLines(hub, { file, columns })];
  const shown = lines.map(({ setting, comment }) => setting + output.paint.dim(comment)).join("\n");
  output.answer({ settings: paths.length + hub.length, config }, shown);
  return 0;
}

const isChosen = (origins: Origins, path: KnobPath) => origins[path] === "flag" || origins[path] === "file";

interface Sources {
  readonly config: RunConfig;
  readonly origins: Origins;
  readonly file: ConfigFile | null;
  readonly options: OptionValues;
}

function sourceText(path: KnobPath, { config, origins, file, options }: Sources): string {
  switch (origins[path]) {
    case "flag":
      return `--${givenOption(options, path) ?? "set"}`;
    case "file": {
      const line = file?.lineOf(path);
      const name = file?.path.split("/").at(-1) ?? "file";
      return line === null || line === undefined ? name : `${name}:${line}`;
    }
    case "size":
      return originOfSized(config, path);
    case "dataset":
      return "from the dataset";
    case "from": // of a model, which this command does not take
    case "default":
      return "default";
  }
}

interface ConfigLine {
  readonly setting: string;
  readonly comment: string;
}

/** The [hub] table: what the file sets, and unless --changed the defaults. */
function hubSettings(file: ConfigFile | null, { onlyChosen }: { onlyChosen: boolean }): HubSetting[] {
  const set = hubPart(file?.table ?? {});
  return hubOptions.filter((spec) => !onlyChosen || set.has(spec)).map((spec) => {
    const path = `${hubTable}.${settingName(spec)}`;
    const value = (set.get(spec) ?? spec.default ?? null) as HubSetting["value"];
    return { spec, path, value, line: set.has(spec) ? file?.lineOf(path) ?? null : null };
  });
}

interface HubSetting {
  readonly spec: OptionSpec;
  readonly path: string;
  readonly value: KnobValue | null; // null: not set, and without a constant default
  readonly line: number | null;
}

function hubLines(
  settings: readonly HubSetting[],
  { file, columns }: { file: ConfigFile | null; columns: number },
): ConfigLine[] {
  if (settings.length === 0) return [];
  const name = file?.path.split("/").at(-1) ?? "file";
  const lines = settings.map(({ spec, value, line }): ConfigLine => {
    const given = value === null ? `# ${settingName(spec)} =` : `${settingName(spec)} = ${tomlValue(value)}`;
    const setting = given.padEnd(widestSetting);
    const words = `  # ${(line === null ? "default" : `${name}:${line}`).padEnd(12)}  ${spec.doc}`;
    return { setting, comment: cut(words, Math.max(16, columns - setting.length)) };
  });
  return [{ setting: "", comment: "" }, { setting: `[${hubTable}]`, comment: "" }, ...lines];
}

const widestSetting = 34; // columns before the comment

function configLines(
  { config, paths, sourceOf, columns }: {
    config: RunConfig;
    paths: readonly KnobPath[];
    sourceOf: (path: KnobPath) => string;
    columns: number;
  },
): ConfigLine[] {
  const lines: ConfigLine[] = [];
  let table = "";
  for (const path of paths) {
    const tableOfPath = path.slice(0, Math.max(path.indexOf("."), 0));
    if (tableOfPath !== table) {
      if (lines.length > 0) lines.push({ setting: "", comment: "" });
      lines.push({ setting: `[${tableOfPath}]`, comment: "" });
    }
    table = tableOfPath;
    const setting = `${path.slice(path.indexOf(".") + 1)} = ${tomlValue(valueAt(config, path))}`.padEnd(widestSetting);
    const words = `  # ${sourceOf(path).padEnd(12)}  ${meaningOf(path)}`;
    lines.push({ setting, comment: cut(words, Math.max(16, columns - setting.length)) });
  }
  return lines;
}
