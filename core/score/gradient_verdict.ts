/**
 * What a recomputed gradient says about the squared norm that its miner committed.
 *
 * Owns the tolerance and the rule, the same for the orchestrator, validators and anyone who verifies the log. Out of
 * scope: what follows from a verdict (verdict.ts), recomputing a gradient.
 *
 * The wires of a gradient are given byte for byte, so only two things differ: the arithmetic of two devices, by 1e-5 of
 * the square at most, and the rounding of opened parameters, by 7e-4 at the largest learning rates that a run may have
 * (core/train/optimizer.ts). One percent is more than ten times that, and a lie of one percent moves everybody's step
 * by half as much. A gradient whose parts cancel out, which neighbours could cause, consists of rounding; so `least`,
 * far below the stage's usual square, replaces both squares if they are smaller.
 */

import type { AuditedTask, GradientSquares, RefereedRepetition, Verdict } from "./verdict.ts";

export const gradientTolerance = 0.01; // of the larger square
export const mostSquareSum = 1e90; // no float32 gradient exceeds this: larger claims count as this
export const leastShare = 1e-6; // of the stage's usual square: less counts as nothing

/** The difference as a share of the larger square, 0 to 1. */
export function gradientError({ claimed, found, least }: GradientSquares): number {
  const difference = Math.abs(claimed - found);
  return difference === 0 ? 0 : difference / Math.max(claimed, found, least);
}

/** Devices that differ in rounding are orders of magnitude below the tolerance, so all of an error is beyond it. */
export function gradientRepetition(squares: GradientSquares): RefereedRepetition {
  const error = gradientError(squares);
  const equalShare = squares.claimed === squares.found ? 1 : 0;
  return { innovationError: error, equalShare, lossError: null, beyondRounding: error, rounding: 0 };
}

/** `task`: the first one of the gradient. */
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
