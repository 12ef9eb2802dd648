/**
 * How fast each pair of channels turns with a token's position, with the same bits on every machine.
 *
 * Llama 3.1 reaches a longer context by slower turns (`rope_type` llama3): pairs that turn less than `low` times within
 * the original context turn `factor` times slower, those that turn more than `high` times as before, those between by a
 * blend of both.
 */

import { exponential, logarithm } from "../exact_math.ts";
import type { ModelShape } from "./shape.ts";

/** What an omitted setting means; the last three are Llama 3.1's. */
export const ropeDefaults = { factor: 1, lowFrequency: 1, highFrequency: 4, originalContext: 8192 } as const;

export interface RopeScaling {
  readonly factor: number;
  readonly low: number; // turns within the original context
  readonly high: number;
  readonly originalContext: number; // tokens
}

type RopeSettings = Pick<
  ModelShape,
  "ropeBase" | "ropeFactor" | "ropeLowFrequency" | "ropeHighFrequency" | "ropeOriginalContext"
>;

/** Null: none. */
export function ropeScalingOf(model: RopeSettings): RopeScaling | null {
  const factor = model.ropeFactor ?? ropeDefaults.factor;
  return factor === 1 ? null : {
    factor,
    low: model.ropeLowFrequency ?? ropeDefaults.lowFrequency,
    high: model.ropeHighFrequency ?? ropeDefaults.highFrequency,
    originalContext: model.ropeOriginalContext ?? ropeDefaults.originalContext,
  };
}

/** Radians per position, of each pair of a head's channels. */
export function ropeFrequencies(model: RopeSettings, headWidth: number): number[] {
  const slowdowns = ropeSlowdowns(model, headWidth);
  return unscaledFrequencies(model, headWidth).map((frequency, i) => frequency / slowdowns[i]!);
}

/** How many times slower each pair turns than without scaling. */
export function ropeSlowdowns(model: RopeSettings, headWidth: number): number[] {
  const scaling = ropeScalingOf(model);
  return unscaledFrequencies(model, headWidth).map((frequency) => {
    if (scaling === null) return 1;
    const { factor, low, high, originalContext } = scaling;
    const turns = originalContext * frequency / (2 * Math.PI);
    const kept = Math.min(Math.max((turns - low) / (high - low), 0), 1);
    return 1 / ((1 - kept) / factor + kept);
  });
}

function unscaledFrequencies({ ropeBase }: RopeSettings, headWidth: number): number[] {
  const half = headWidth / 2;
  return Array.from({ length: half }, (_, i) => exponential(-i / half * logarithm(ropeBase)));
}
