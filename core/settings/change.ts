/**
 * How settings may change during a run. A change is one event at the orchestrator's start, so that a replay of its
 * journal includes it.
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

export function changesBetween(from: RunConfig, to: RunConfig): SettingChange[] {
  return knobPaths.flatMap((path) => {
    const change = { path, from: valueAt(from, path), to: valueAt(to, path) };
    return change.from === change.to ? [] : [change];
  });
}

/** What distinguishes the journals of two runs, without settings that the configuration omits. */
export function lastingSettings(config: RunConfig): readonly (readonly [KnobPath, KnobValue])[] {
  return knobPaths.filter((path) => !mayChange(path)).map((path) => [path, valueAt(config, path)] as const)
    .filter(([path, value]) => value !== omittedValue(path));
}

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
