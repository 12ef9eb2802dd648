/**
 * The verdict on a miner's task and its consequence: one rule for the orchestrator and every validator.
 * core/orchestrator/audit/verdict_actions.ts carries it out for the run, work_score.ts for a validator's scores.
 */

import type { NodeId, StageIndex, TaskId } from "../ids.ts";

export interface AuditedTask {
  readonly round: number;
  readonly miner: NodeId;
  readonly stage: StageIndex;
  readonly task: TaskId;
}

interface Repetition {
  readonly innovationError: number;
  readonly equalShare: number; // of values equal to the last bit
  readonly lossError: number | null; // largest of a sequence, in nats; null: no losses
}

/** The plain sum over a miner's tasks in a step. */
export interface GradientSquares {
  readonly claimed: number; // committed by the miner
  readonly found: number;
  readonly least: number; // differences below it mean nothing
}

/** A repetition by the orchestrator. */
export interface RefereedRepetition extends Repetition {
  readonly beyondRounding: number;
  readonly rounding: number;
}

/**
 * `withholdPay`: the miner keeps `score` of its pay, only in the book of the validator that found it, because its claim
 * proves nothing to others. `expel`: a ban, proven to all: the round's pay is lost, and the next work report says so.
 */
type VerdictAction = "none" | "withholdPay" | "expel";

export interface Verdict extends AuditedTask {
  readonly type: "passed" | "failed" | "inconclusive";
  readonly reason: string;
  readonly score: number; // share of its pay that the miner keeps
  readonly action: VerdictAction;
  readonly evidence: Evidence | null; // null: not repeated
}

interface Evidence extends Repetition {
  readonly tolerance: number;
  readonly gradient: GradientSquares | null; // null: one task was repeated
}

/**
 * An accusation is false only if the error is clearly below the tolerance, since a miner can place its error where
 * rounding decides.
 */
const clearly = 2;

/**
 * The orchestrator repeated the task, so an error is proof. Honest devices are orders of magnitude below any tolerance
 * once rounding is subtracted. Every error above it has a consequence, because a cheat would use a gap.
 */
export function judgeAsReferee(
  { innovationError, lossError, beyondRounding, rounding }: RefereedRepetition,
  tolerance: number,
): "madeUp" | "honest" | "unclear" {
  if (Math.max(beyondRounding, lossError ?? 0) > tolerance) return "madeUp";
  return Math.max(innovationError + rounding, lossError ?? 0) <= tolerance / clearly ? "honest" : "unclear";
}

export function judgeRepetition(
  { round, miner, stage, task }: AuditedTask,
  { found: { innovationError, equalShare, lossError }, tolerance }: { found: Repetition; tolerance: number },
): Verdict {
  const passed = innovationError <= tolerance && (lossError === null || lossError <= tolerance);
  const off = lossError === null ? `${innovationError}` : `${innovationError}, its losses by ${lossError}`;
  return {
    type: passed ? "passed" : "failed",
    round,
    miner,
    stage,
    task,
    reason: `The output of ${task} is off by ${off}; the tolerance is ${tolerance}`,
    score: passed ? 1 : 0,
    action: passed ? "none" : "withholdPay",
    evidence: { innovationError, equalShare, lossError, tolerance, gradient: null },
  };
}

/** It does not count against the miner. */
export function inconclusive({ round, miner, stage, task }: AuditedTask, reason: string): Verdict {
  return { type: "inconclusive", round, miner, stage, task, reason, score: 1, action: "none", evidence: null };
}

/** Null: nothing to report. */
export function verdictFacts({ type, round, miner, stage, task, evidence }: Verdict): VerdictFacts | null {
  if (evidence === null) return null;
  const { innovationError, equalShare, lossError, tolerance, gradient } = evidence;
  return {
    round,
    miner,
    stage,
    task,
    passed: type === "passed",
    innovationError,
    equalShare,
    lossError,
    tolerance,
    ...(gradient === null ? {} : { gradient }),
  };
}

export interface VerdictFacts extends AuditedTask, Repetition {
  readonly passed: boolean;
  readonly tolerance: number;
  readonly gradient?: GradientSquares; // absent: one task's output and losses
}
