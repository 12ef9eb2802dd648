/**
 * What validators answer, and what they are told about pay and about the norm of a gradient that they repeated. Part of
 * the unions of message.ts, which has the requests; a change needs a new PROTOCOL_VERSION there.
 */

import type { Fault } from "../fault.ts";
import type { NodeId } from "../ids.ts";
import type { Forfeit } from "../score/work_score.ts";

export const tasksOfPart = 8; // the most tasks of a gradient in one request

export interface Evaluated {
  readonly type: "evaluated";
  readonly request: number;
  readonly loss: number | null; // mean nats per token; null: not finite
  readonly tokens: number;
  readonly signature: string; // of a statement (core/statements), like those below
}

/** A validator's result of repeating a task from the committed wires, with the round's parameters or opened ones. */
export interface Replayed {
  readonly type: "replayed";
  readonly request: number;
  readonly innovationError: number; // ||y - y_ref|| / ||y_ref - y_lazy||
  readonly equalShare: number; // share of output values that are equal to the last bit
  readonly lossError: number | null; // turnaround: largest |loss - loss_ref| over the sequences
  readonly signature: string;
}

/** Answers every part of a `repeatGradient`. */
export interface GradientRepeated {
  readonly type: "gradientRepeated";
  readonly request: number;
  readonly squareSum: number | null; // of the plain sum over all the tasks; null: not the last part
  readonly signature: string | null; // null: as above
}

export interface RequestFailed {
  readonly type: "requestFailed";
  readonly request: number;
  readonly fault: Fault;
}

/** The miner's committed norm of the gradient repeated last: for the validator's own verdict. */
export interface GradientClaimed {
  readonly type: "gradientClaimed";
  readonly request: number; // the last part's
  readonly claimed: number; // squared norm
  readonly least: number; // squared norm below which differences are meaningless: core/score/gradient_verdict.ts
}

/** Miners' work in a merged round, in units (model/task_flops.ts), in parts for a large swarm. For validators. */
export interface WorkReport {
  readonly type: "workReport";
  readonly round: number;
  readonly miners: readonly NodeId[];
  readonly units: readonly number[]; // one per miner
  readonly expelled: readonly NodeId[]; // banned: they get nothing for earlier rounds either
  readonly forfeits: readonly Forfeit[]; // of earlier rounds that have not vested
  readonly isLast: boolean; // no other round follows
}
