/**
 * The numbers of a step header: learning rate, ramp of a newcomer, clip factor. Steps are 0-based over the run.
 *
 * `linear`: warm-up, stable, decay ("WSD"), which fits runs of unknown length. `cosine`: warm-up, then down to the run's
 * end along half a cosine, as most published recipes have it.
 */

import { sineAndCosine } from "../exact_math.ts";
import type { TrainConfig } from "../config/config.ts";
import { defaultSchedule } from "../config/schedule_names.ts";

/**
 * The peak, at most the share of a warm-up over `warmupSteps` (step `warmupSteps - 1` is at the peak), and of a fall to
 * `finalLearningRateFraction` at the last step and after.
 */
export function learningRateAt({ config, step }: { config: TrainConfig; step: number }): number {
  const { steps, warmupSteps, decayFraction, finalLearningRateFraction, learningRate } = config;
  const isCosine = (config.schedule ?? defaultSchedule) === "cosine";
  const rising = warmupSteps === 0 ? 1 : Math.min(1, (step + 1) / warmupSteps);
  const decaySteps = isCosine ? steps - warmupSteps : Math.round(steps * decayFraction);
  const decayed = Math.min(Math.max(step + 1 - (steps - decaySteps), 0), decaySteps); // including this step
  const share = decaySteps === 0 ? 0 : decayed / decaySteps;
  const fallen = isCosine ? (1 - sineAndCosine(Math.PI * share).cosine) / 2 : share;
  return learningRate * Math.min(rising, 1 - (1 - finalLearningRateFraction) * fallen);
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
