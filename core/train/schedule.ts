/**
 * The numbers of a step header: learning rate (warm-up, stable, decay: "WSD", which fits runs of unknown length), ramp
 * of a newcomer, clip factor. Steps are 0-based over the run.
 */

import type { TrainConfig } from "../config/config.ts";

/**
 * Peak rate times the smaller of two ramps: up over `warmupSteps` (step `warmupSteps - 1` is at the peak), and down
 * over the last `decayFraction` of the run, to `finalLearningRateFraction` at the last step and after.
 */
export function learningRateAt({ config, step }: { config: TrainConfig; step: number }): number {
  const { steps, warmupSteps, decayFraction, finalLearningRateFraction, learningRate } = config;
  const rising = warmupSteps === 0 ? 1 : Math.min(1, (step + 1) / warmupSteps);
  const decaySteps = Math.round(steps * decayFraction);
  const decayed = Math.min(Math.max(step + 1 - (steps - decaySteps), 0), decaySteps); // including this step
  const falling = decaySteps === 0 ? 1 : 1 - (1 - finalLearningRateFraction) * (decayed / decaySteps);
  return learningRate * Math.min(rising, falling);
}

/** A share of the learning rate, `localSteps` after moments started empty. */
export function joinWarmup({ localSteps, joinWarmupSteps }: { localSteps: number; joinWarmupSteps: number }): number {
  return joinWarmupSteps === 0 ? 1 : Math.min(1, (localSteps + 1) / joinWarmupSteps);
}

/** Limits a gradient's norm to `clipNorm`. `squareSum` is untrusted; 0 means "take no step". */
export function clipFactor({ squareSum, clipNorm }: { squareSum: number; clipNorm: number }): number {
  if (!Number.isFinite(squareSum) || squareSum < 0) return 0;
  const norm = Math.sqrt(squareSum);
  return norm <= clipNorm ? 1 : clipNorm / norm;
}
