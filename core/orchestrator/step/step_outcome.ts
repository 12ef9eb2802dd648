/**
 * The outcome of a closed step: each microbatch's miners and losses, each miner's work, and the wires while they are
 * kept.
 *
 * Owns the value and its accessors. Plain data that outlives the step's work: outcomes.ts creates it in one place, when
 * the step closes; pay, audits, the record `stepClosed` and attribution read it, and none of them reads the work
 * itself. Nodes are named once and referred to by their index in `miners`, because an address is 48 characters and a
 * step has thousands of tasks.
 */

import { present } from "../../assert.ts";
import type { BlobRef, MicrobatchId, NodeId, StageIndex, TaskId } from "../../ids.ts";

/** A miner's work in the step. */
export interface StepMiner {
  readonly node: NodeId;
  readonly tasks: number; // accepted; 0: its output was used, but the task was redone by another
  readonly units: number; // for these tasks and in dropped attempts (remaking.ts), see model/task_flops.ts
  readonly dropped: number; // of these, units of dropped attempts
  readonly isPaid: boolean; // false: it was banned, has left once too often, or its gradient norm cannot be right
}

/** The miners that a microbatch met, by place in `miners`, at each of the 2K - 1 positions of its chain (chain.ts). */
export interface Pathway {
  readonly microbatch: MicrobatchId;
  readonly makers: readonly number[]; // miners whose output went to the next position
  /** Miners whose work counts; differs from the maker if its gradient was lost and recomputed. */
  readonly doers: readonly number[];
  readonly losses: readonly number[]; // of each sequence, mean nats per token
  readonly isRemade: boolean; // wires were lost and recomputed: results of the first cannot be repeated from the second
}

/** A gradient that was committed before the step closed. */
export interface ConfirmedGradient {
  readonly miner: number; // place in `miners`
  readonly stage: StageIndex;
  readonly tasks: number;
  readonly squareSum: number; // of the plain sum over the tasks
  readonly hasLeft: boolean; // since then; its tasks count, but its gradient is lost
}

/**
 * misshapen, implausible: a result, see result_check.ts. failed: the miner refused the task. expired: no result by the
 * deadline. unconfirmed: no commitment within its patience. outlier: a gradient norm that cannot be right.
 */
export type StepFaultType = "misshapen" | "implausible" | "failed" | "expired" | "unconfirmed" | "outlier";

export interface StepFault {
  readonly type: StepFaultType;
  readonly node: NodeId;
  readonly task: TaskId | null; // null: it concerns all the miner's tasks
}

/** Accepted output of a position, held by the shell. */
export interface KeptWire {
  readonly ref: BlobRef | null; // null: the position has no output
  readonly task: TaskId; // the task that computed it
  readonly assignment: number; // its maker's at that time
}

export interface StepOutcome {
  readonly round: number;
  readonly step: number; // 0-based
  readonly loss: number; // mean over the step's tokens, nats per token
  readonly learningRate: number;
  readonly gradientNorm: number; // of the mean gradient over the whole model, before clipping
  readonly clipFactor: number;
  readonly tokens: number;
  readonly stepMs: number;
  readonly miners: readonly StepMiner[];
  readonly pathways: readonly Pathway[]; // one for each microbatch, in data order
  readonly gradients: readonly ConfirmedGradient[];
  readonly faults: readonly StepFault[]; // in the order they came
  readonly faultsLeftOut: number; // because the list was full
  /** By microbatch and position; null: lost. All null: released. */
  wires: readonly (readonly (KeptWire | null)[])[] | null;
  isUndone: boolean; // a rollback undid this step: it does not count
}

/** Everything that the shell holds for this outcome. */
export function keptRefs({ wires }: StepOutcome): BlobRef[] {
  return (wires ?? []).flatMap((ofPathway) =>
    ofPathway.flatMap((wire) => wire === null || wire.ref === null ? [] : [wire.ref])
  );
}

/** Mean nats per token of a microbatch. */
export const lossOf = ({ losses }: Pathway): number => losses.reduce((sum, loss) => sum + loss, 0) / losses.length;

/** The miner at a place. */
export function minerAt({ miners }: StepOutcome, place: number): StepMiner {
  return present(miners[place], "a place in an outcome has a miner");
}
