/**
 * Answers of validators, and what they learn of pay and committed norms. message.ts has the requests and the version.
 */

import type { Fault } from "../fault.ts";
import type { NodeId } from "../ids.ts";
import type { Forfeit } from "../score/work_score.ts";

export const tasksOfPart = 8; // most tasks of a gradient per request

export interface Evaluated {
  readonly type: "evaluated";
  readonly request: number;
  readonly loss: number | null; // mean nats per token; null: not finite
  readonly tokens: number;
  readonly signature: string; // of a statement (core/statements), as below
}

/** The result of repeating a task from the committed wires. */
export interface Replayed {
  readonly type: "replayed";
  readonly request: number;
  readonly innovationError: number; // ||y - y_ref|| / ||y_ref - y_lazy||
  readonly equalShare: number; // of output values equal to the last bit
  readonly lossError: number | null; // turnaround: largest |loss - loss_ref| of a sequence
  readonly signature: string;
}

/** Answers each part of a `repeatGradient`. */
export interface GradientRepeated {
  readonly type: "gradientRepeated";
  readonly request: number;
  readonly squareSum: number | null; // of the plain sum over all tasks; null: not the last part
  readonly signature: string | null; // null: not the last part
}

export interface RequestFailed {
  readonly type: "requestFailed";
  readonly request: number;
  readonly fault: Fault;
}

/** The committed norm, for the validator's own verdict. */
export interface GradientClaimed {
  readonly type: "gradientClaimed";
  readonly request: number; // of the last part
  readonly claimed: number; // squared norm
  readonly least: number; // squared norm; smaller ones count as this (core/score/gradient_verdict.ts)
}

/** Work in a merged round (model/task_flops.ts), in parts for a large swarm. */
export interface WorkReport {
  readonly type: "workReport";
  readonly round: number;
  readonly miners: readonly NodeId[];
  readonly units: readonly number[];
  readonly expelled: readonly NodeId[]; // banned: no pay for earlier rounds either
  readonly forfeits: readonly Forfeit[]; // of rounds that have not vested
  readonly isLast: boolean; // no round follows
}
