/**
 * How a run's settings may change during the run; the table in knobs.ts says which ones may.
 *
 * A change takes effect when the orchestrator starts again, as one event, so that a replay of its journal includes it.
 */

import { assert } from "../assert.ts";
import type { RunConfig } from "../config/config.ts";
import { assembleConfig, omittedValue, valueAt } from "./derive.ts";
import { type KnobPath, type KnobValue, tomlValue } from "../config/knob.ts";
import { knobAt, knobPaths } from "../config/knobs.ts";

export interface SettingChange {
  readonly path: KnobPath;
  readonly from: KnobValue;
  readonly to: KnobValue;
}

export const mayChange = (path: KnobPath): boolean => knobAt(path).mayChange === true;

/** In the order of the table. */
export function changesBetween(from: RunConfig, to: RunConfig): SettingChange[] {
  return knobPaths.flatMap((path) => {
    const change = { path, from: valueAt(from, path), to: valueAt(to, path) };
    return change.from === change.to ? [] : [change];
  });
}

/**
 * The settings that must not change, without those the configuration omits: they distinguish one run's journal from
 * another's.
 */
export function lastingSettings(config: RunConfig): readonly (readonly [KnobPath, KnobValue])[] {
  return knobPaths.filter((path) => !mayChange(path)).map((path) => [path, valueAt(config, path)] as const)
    .filter(([path, value]) => value !== omittedValue(path));
}

/** Accepts only settings that may change. */
export function withChanges(config: RunConfig, changes: readonly SettingChange[]): RunConfig {
  const values = new Map(knobPaths.map((path) => [path, valueAt(config, path)]));
  for (const { path, to } of changes) {
    assert(mayChange(path), `${path} is fixed for the whole run`);
    values.set(path, to);
  }
  return assembleConfig(values);
}

/** `train.learningRate: 0.004 → 0.002`. */
export function describeChange({ path, from, to }: SettingChange): string {
  return `${path}: ${tomlValue(from)} → ${tomlValue(to)}`;
}
