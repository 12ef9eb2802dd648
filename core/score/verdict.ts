/**
 * The verdict on a miner's task and its consequence: one rule, shared by the orchestrator and every validator.
 *
 * Owns the verdict as a value: the finding, the share of its pay that the miner keeps, and the action. Out of scope:
 * measuring a repetition's error (innovation.ts) and carrying out the action, which
 * core/orchestrator/audit/verdict_actions.ts does for the run and work_score.ts for a validator's scores.
 */

import type { NodeId, StageIndex, TaskId } from "../ids.ts";

/** The repeated task and the miner that did it. */
export interface AuditedTask {
  readonly round: number;
  readonly miner: NodeId;
  readonly stage: StageIndex;
  readonly task: TaskId;
}

/** What a validator found when it repeated a task. */
interface Repetition {
  readonly innovationError: number; // see innovation.ts
  readonly equalShare: number; // of values equal to the last bit
  readonly lossError: number | null; // largest of all sequences, in nats; null: the task has no losses
}

/** Squared norms of the plain sum over a miner's tasks in a step. */
export interface GradientSquares {
  readonly claimed: number; // committed by the miner
  readonly found: number;
  readonly least: number; // below this, differences mean nothing
}

/** The orchestrator's finding when it repeated a task. */
export interface RefereedRepetition extends Repetition {
  readonly beyondRounding: number; // see innovation.ts
  readonly rounding: number;
}

/**
 * `none`: no consequence. `withholdPay`: the miner keeps `score` of its pay while the round is in a validator's window;
 * today only in the book of the validator that found it, because one validator's claim proves nothing to the others.
 * `expel`: a ban, proven to all: the miner leaves the run and loses the round's pay, and the next work report tells every
 * validator.
 */
type VerdictAction = "none" | "withholdPay" | "expel";

export interface Verdict extends AuditedTask {
  readonly type: "passed" | "failed" | "inconclusive";
  readonly reason: string; // for people
  readonly score: number; // share of its pay that the miner keeps, 0 to 1
  readonly action: VerdictAction;
  readonly evidence: Evidence | null; // null: not repeated
}

interface Evidence extends Repetition {
  readonly tolerance: number;
  readonly gradient: GradientSquares | null; // null: a single task was repeated
}

/**
 * An accusation is false only if the error is clearly below the tolerance: a miner can place its error so near the
 * tolerance that rounding decides on which side a validator finds it.
 */
const clearly = 2;

/**
 * The verdict on a task that the orchestrator repeated itself, so an error is proof; a validator's claim is not.
 * Devices that differ in rounding are orders of magnitude below any tolerance once what the wire's format explains is
 * subtracted. No range of errors above the tolerance is without consequence, because a cheat would place its error
 * there.
 */
export function judgeAsReferee(
  { innovationError, lossError, beyondRounding, rounding }: RefereedRepetition,
  tolerance: number,
): "madeUp" | "honest" | "unclear" {
  if (Math.max(beyondRounding, lossError ?? 0) > tolerance) return "madeUp";
  return Math.max(innovationError + rounding, lossError ?? 0) <= tolerance / clearly ? "honest" : "unclear";
}

/** A task passes if neither its output nor its losses exceed the run's tolerance. */
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

/** No validator could repeat the task, which does not count against its miner. */
export function inconclusive({ round, miner, stage, task }: AuditedTask, reason: string): Verdict {
  return { type: "inconclusive", round, miner, stage, task, reason, score: 1, action: "none", evidence: null };
}

/** The fields of the `verdict` records of the run and of a validator; null: nothing to report. */
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
  readonly gradient?: GradientSquares; // a gradient's norm was checked; absent: one task's output and losses
}
