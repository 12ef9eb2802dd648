/**
 * The numbers of a step header: learning rate (warm-up, stable, decay: "WSD"), the ramp of a newcomer, the clip factor.
 *
 * WSD fits runs whose length changes with churn; constants are knobs. Pure arithmetic, steps are 0-based
 * optimizer steps of the whole run.
 */

import type { TrainConfig } from "../config/config.ts";

/**
 * Peak rate times the smaller of two ramps: up over the first `warmupSteps` (the first step already moves, step
 * `warmupSteps - 1` is at the peak) and down over the last `decayFraction` of the run (the last step and any after it
 * are at `finalLearningRateFraction`).
 */
export function learningRateAt({ config, step }: { config: TrainConfig; step: number }): number {
  const { steps, warmupSteps, decayFraction, finalLearningRateFraction, learningRate } = config;
  const rising = warmupSteps === 0 ? 1 : Math.min(1, (step + 1) / warmupSteps);
  const decaySteps = Math.round(steps * decayFraction);
  const decayed = Math.min(Math.max(step + 1 - (steps - decaySteps), 0), decaySteps); // including this step
  const falling = decaySteps === 0 ? 1 : 1 - (1 - finalLearningRateFraction) * (decayed / decaySteps);
  return learningRate * Math.min(rising, falling);
}

/** The share of the learning rate for a miner whose moments started empty `localSteps` steps ago. */
export function joinWarmup({ localSteps, joinWarmupSteps }: { localSteps: number; joinWarmupSteps: number }): number {
  return joinWarmupSteps === 0 ? 1 : Math.min(1, (localSteps + 1) / joinWarmupSteps);
}

/**
 * The factor that limits a gradient's norm to `clipNorm`. `squareSum` adds up untrusted numbers, so it may be anything:
 * no factor can repair a NaN sum, so 0 means "take no step".
 */
export function clipFactor({ squareSum, clipNorm }: { squareSum: number; clipNorm: number }): number {
  if (!Number.isFinite(squareSum) || squareSum < 0) return 0;
  const norm = Math.sqrt(squareSum);
  return norm <= clipNorm ? 1 : clipNorm / norm;
}
