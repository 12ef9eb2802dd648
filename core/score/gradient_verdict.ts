/**
 * The verdict on a committed squared norm, by a recomputed gradient; the same for everyone who verifies the log.
 *
 * Honest squares differ by at most 1e-5 (arithmetic) and 7e-4 (rounding of opened parameters, at the largest learning
 * rates: core/train/optimizer.ts). The tolerance is more than ten times that; a lie of one percent moves the step by
 * half as much. Neighbours could make a gradient cancel out to mere rounding, so `least` replaces smaller squares.
 */

import type { AuditedTask, GradientSquares, RefereedRepetition, Verdict } from "./verdict.ts";

export const gradientTolerance = 0.01; // of the larger square
export const mostSquareSum = 1e90; // beyond any float32 gradient; larger claims count as this
export const leastShare = 1e-6; // of the stage's usual square; less counts as nothing

/** Share of the larger square, 0 to 1. */
export function gradientError({ claimed, found, least }: GradientSquares): number {
  const difference = Math.abs(claimed - found);
  return difference === 0 ? 0 : difference / Math.max(claimed, found, least);
}

/** Rounding is orders of magnitude below the tolerance, so all of an error is beyond it. */
export function gradientRepetition(squares: GradientSquares): RefereedRepetition {
  const error = gradientError(squares);
  const equalShare = squares.claimed === squares.found ? 1 : 0;
  return { innovationError: error, equalShare, lossError: null, beyondRounding: error, rounding: 0 };
}

/** `task`: the gradient's first. */
export function judgeGradient({ round, miner, stage, task }: AuditedTask, squares: GradientSquares): Verdict {
  const { innovationError, equalShare } = gradientRepetition(squares);
  const passed = innovationError <= gradientTolerance;
  const norm = (square: number) => Math.sqrt(square).toPrecision(4);
  return {
    type: passed ? "passed" : "failed",
    ...{ round, miner, stage, task },
    reason: `The norm of the gradient that ${task} began is ${norm(squares.found)}, and was committed as ` +
      `${norm(squares.claimed)}; its square is off by ${
        innovationError.toPrecision(3)
      }, the tolerance is ${gradientTolerance}`,
    score: passed ? 1 : 0,
    action: passed ? "none" : "withholdPay",
    evidence: { innovationError, equalShare, lossError: null, tolerance: gradientTolerance, gradient: squares },
  };
}
