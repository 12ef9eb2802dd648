/**
 * The whole configuration for people: a TOML file in which every line names the source of its value.
 *
 * Invariant: read back as a file, the lines give the same configuration.
 */

import type { RunConfig } from "../config/config.ts";
import { valueAt } from "./derive.ts";
import { type KnobPath, tomlValue } from "../config/knob.ts";
import { knobAt, knobPaths } from "../config/knobs.ts";
import { isSizedPath, presets, type SizeName } from "../config/size.ts";

const commentColumn = 36;

/** `origins`: where each value comes from, in words or as an `Origin`. */
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

/** For a value that the size would set: other given settings may decide it (derive.ts). */
export function originOfSized(config: RunConfig, path: KnobPath): string {
  const isPreset = isSizedPath(path) && presets[config.size as SizeName][path] === valueAt(config, path);
  return isPreset ? `size ${config.size}` : "other settings";
}

/** One line of the file. */
export function describeSetting(config: RunConfig, { path, origin }: { path: KnobPath; origin: string }): string {
  const key = path.slice(path.indexOf(".") + 1);
  const { unit, doc } = knobAt(path);
  const comment = unit === "" ? `${origin}; ${doc}` : `${unit}, ${origin}; ${doc}`;
  return `${`${key} = ${tomlValue(valueAt(config, path))}`.padEnd(commentColumn)}  # ${comment}`;
}
