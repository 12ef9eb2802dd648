/**
 * How many more steps make a difference between miners certain. At z_a + z_b standard errors, a miner without effect is
 * judged harmful with probability a at most, and one with that effect is missed with probability b at most.
 */

import type { ClaspEffect } from "./clasp.ts";

/** Normal quantile for an error of 1 %. */
const onePercent = 2.3263478740408408;
export const certainty = 2 * onePercent; // in standard errors

/**
 * For an effect as large as measured, at least `smallest`; 0: it is certain, null: unknown. The standard error falls
 * with the square root of the steps.
 */
export function stepsUntilKnown(
  { effect, standardError }: Pick<ClaspEffect, "effect" | "standardError">,
  { steps, smallest }: { steps: number; smallest: number },
): number | null {
  if (standardError === null) return null;
  const wanted = Math.max(Math.abs(effect), smallest) / certainty;
  return standardError <= wanted ? 0 : Math.ceil(steps * ((standardError / wanted) ** 2 - 1));
}
