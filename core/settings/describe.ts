/** The configuration as a TOML file that can be read back, each line with the source of its value. */

import type { RunConfig } from "../config/config.ts";
import { valueAt } from "./derive.ts";
import { type KnobPath, tomlValue } from "../config/knob.ts";
import { knobAt, knobPaths } from "../config/knobs.ts";
import { isSizedPath, presets, type SizeName } from "../config/size.ts";

const commentColumn = 36;

/** `origins`: in words or as an `Origin`. */
export function describeConfig(config: RunConfig, origins: Readonly<Record<KnobPath, string>>): string[] {
  const lines: string[] = [];
  let table = "";
  for (const path of knobPaths) {
    const tableOfPath = path.slice(0, Math.max(path.indexOf("."), 0));
    if (tableOfPath !== table) lines.push("", `[${tableOfPath}]`);
    table = tableOfPath;
    const origin = origins[path] === "size" ? originOfSized(config, path) : origins[path];
    lines.push(describeSetting(config, { path, origin }));
  }
  return lines;
}

/** Other settings may decide a value that the size would set (derive.ts). */
export function originOfSized(config: RunConfig, path: KnobPath): string {
  const isPreset = isSizedPath(path) && presets[config.size as SizeName][path] === valueAt(config, path);
  return isPreset ? `size ${config.size}` : "other settings";
}

export function describeSetting(config: RunConfig, { path, origin }: { path: KnobPath; origin: string }): string {
  const key = path.slice(path.indexOf(".") + 1);
  const { unit, doc } = knobAt(path);
  const comment = unit === "" ? `${origin}; ${doc}` : `${unit}, ${origin}; ${doc}`;
  return `${`${key} = ${tomlValue(valueAt(config, path))}`.padEnd(commentColumn)}  # ${comment}`;
}
