/**
 * What an audit says of a miner's task, and what follows from it: the one rule, for the hub and for every validator.
 *
 * Owns the verdict as a value: what was found, what share of its pay the miner keeps, and the action. Out of scope: how far a
 * repetition is off (innovation.ts) and carrying the action out: at the hub core/orchestrator/audit/verdict_actions.ts does
 * that, in a validator's scores work_score.ts.
 */

import type { NodeId, StageIndex, TaskId } from "../ids.ts";

/** What was repeated, and who had done it. */
export interface AuditedTask {
  readonly round: number;
  readonly miner: NodeId;
  readonly stage: StageIndex;
  readonly task: TaskId;
}

/** What a validator found when it repeated a task. */
export interface Repetition {
  readonly innovationError: number; // see innovation.ts
  readonly equalShare: number; // of values equal to the last bit
  readonly lossError: number | null; // largest of all sequences, in nats; null: the task has no losses
}

/**
 * none: nothing follows. withholdPay: the miner keeps `score` of its pay while the round is in a validator's window; today
 * only in the book of the validator that found it, as one validator's word proves nothing to the others. expel: proven to
 * everybody; the miner loses its place and the round's pay, and the next work report tells every validator.
 */
export type VerdictAction = "none" | "withholdPay" | "expel";

export interface Verdict extends AuditedTask {
  readonly type: "passed" | "failed" | "inconclusive";
  readonly reason: string; // for people
  readonly score: number; // share of its pay that the miner keeps, 0 to 1
  readonly action: VerdictAction;
  readonly evidence: (Repetition & { readonly tolerance: number }) | null; // null: nothing was repeated
}

/** A task passes when neither its output nor its losses are further off than the run's tolerance. */
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
    evidence: { innovationError, equalShare, lossError, tolerance },
  };
}

/** Nobody could repeat the task: that is not held against its miner. */
export function inconclusive({ round, miner, stage, task }: AuditedTask, reason: string): Verdict {
  return { type: "inconclusive", round, miner, stage, task, reason, score: 1, action: "none", evidence: null };
}

/** The fields of the records `verdict`, of the run and of a validator; null: there is nothing to tell. */
export function verdictFacts({ type, round, miner, stage, task, evidence }: Verdict): VerdictFacts | null {
  if (evidence === null) return null;
  const { innovationError, equalShare, lossError, tolerance } = evidence;
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
  };
}

export interface VerdictFacts extends AuditedTask, Repetition {
  readonly passed: boolean;
  readonly tolerance: number;
}
