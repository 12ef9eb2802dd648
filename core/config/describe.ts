/**
 * The whole configuration for people: a TOML file in which every line names the source of its value.
 *
 * Invariant: read back as a file, the lines give the same configuration.
 */

import type { RunConfig } from "./config.ts";
import { valueAt } from "./derive.ts";
import { type KnobPath, tomlValue } from "./knob.ts";
import { knobAt, knobPaths } from "./knobs.ts";

const commentColumn = 36;

/** `origins`: where each value is from, in words or as an `Origin`. */
export function describeConfig(config: RunConfig, origins: Readonly<Record<KnobPath, string>>): string[] {
  const lines: string[] = [];
  let table = "";
  for (const path of knobPaths) {
    const tableOfPath = path.slice(0, Math.max(path.indexOf("."), 0));
    if (tableOfPath !== table) lines.push("", `[${tableOfPath}]`);
    table = tableOfPath;
    const origin = origins[path] === "size" ? `size ${config.size}` : origins[path];
    lines.push(describeSetting(config, { path, origin }));
  }
  return lines;
}

/** One line of the file. */
export function describeSetting(config: RunConfig, { path, origin }: { path: KnobPath; origin: string }): string {
  const key = path.slice(path.indexOf(".") + 1);
  const { unit, doc } = knobAt(path);
  const comment = unit === "" ? `${origin}; ${doc}` : `${unit}, ${origin}; ${doc}`;
  return `${`${key} = ${tomlValue(valueAt(config, path))}`.padEnd(commentColumn)}  # ${comment}`;
}
