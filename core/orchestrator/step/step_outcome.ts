/**
 * The outcome of a closed step: each microbatch's miners and losses, each miner's work, and the wires while they are
 * kept.
 *
 * Plain data that outlives the step's work. Nodes are named once and referred to by their index in `miners`, because an
 * address has 48 characters and a step thousands of tasks.
 */

import { present } from "../../assert.ts";
import type { BlobRef, MicrobatchId, NodeId, TaskId } from "../../ids.ts";

interface StepMiner {
  readonly node: NodeId;
  readonly tasks: number; // accepted; 0: its output was used, but another redid the task
  readonly units: number; // with dropped attempts (remaking.ts): model/task_flops.ts
  readonly dropped: number; // of these, in dropped attempts
  readonly isPaid: boolean; // false: banned, left once too often, or an impossible gradient norm
}

/** Places in `miners` at each of the 2K - 1 positions of its chain (chain.ts). */
export interface Pathway {
  readonly microbatch: MicrobatchId;
  readonly makers: readonly number[]; // whose output went to the next position
  /** Whose work counts; not the maker if its gradient was lost and recomputed. */
  readonly doers: readonly number[];
  readonly losses: readonly number[]; // of each sequence, mean nats per token
  readonly isRemade: boolean; // wires were lost and recomputed: results of the first cannot be repeated
}

/** Held by the shell. */
export interface KeptWire {
  readonly ref: BlobRef | null; // null: the position has no output
  readonly task: TaskId;
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
  readonly pathways: readonly Pathway[]; // in data order
  /** By microbatch and position; null: lost. All null: released. */
  wires: readonly (readonly (KeptWire | null)[])[] | null;
  isUndone: boolean; // by a rollback: it does not count
}

export function keptRefs({ wires }: StepOutcome): BlobRef[] {
  return (wires ?? []).flatMap((ofPathway) =>
    ofPathway.flatMap((wire) => wire === null || wire.ref === null ? [] : [wire.ref])
  );
}

export const lossOf = ({ losses }: Pathway): number => losses.reduce((sum, loss) => sum + loss, 0) / losses.length;

export function minerAt({ miners }: StepOutcome, place: number): StepMiner {
  return present(miners[place], "a place in an outcome has a miner");
}
