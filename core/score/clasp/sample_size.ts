/**
 * How many more steps make a difference between miners certain.
 *
 * An effect is certain at z_a + z_b standard errors: then a miner without effect is judged harmful with probability a at most,
 * and one with that effect is missed with probability b at most.
 */

import type { ClaspEffect } from "./clasp.ts";

/** Quantile of the normal distribution for an error of 1 %. */
const onePercent = 2.3263478740408408;
export const certainty = 2 * onePercent; // standard errors between no effect and a known one

/**
 * Steps until an effect as large as the measured one, or `smallest` if that is larger, is certain; 0: it is. The
 * standard error falls with the square root of the steps. Null: not known yet.
 */
export function stepsUntilKnown(
  { effect, standardError }: Pick<ClaspEffect, "effect" | "standardError">,
  { steps, smallest }: { steps: number; smallest: number },
): number | null {
  if (standardError === null) return null;
  const wanted = Math.max(Math.abs(effect), smallest) / certainty;
  return standardError <= wanted ? 0 : Math.ceil(steps * ((standardError / wanted) ** 2 - 1));
}
