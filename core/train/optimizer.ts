/**
 * What the rest of the program needs to know of an optimizer: the state it keeps for a stage, and how far one step can
 * go.
 *
 * A state vector is a named float32 vector that starts at zero. It covers ranges of the stage's parameter vector: one
 * state value for each parameter in them, packed in the order of the ranges. So an optimizer may keep one vector for
 * the matrices of the blocks and two for everything else. Invariants: ranges start and end at multiples of 64 floats,
 * as tensors do; names are unique within an optimizer. Out of scope: the step itself (`gpu/webgpu/optimizers`,
 * `gpu/cpu/updates.ts` and their oracle in `tests/lab/reference`), schedules (`schedule.ts`).
 */

import type { RunConfig } from "../config/config.ts";
import type { ParameterTable } from "../model/spec.ts";

/** Floats of a stage's parameter vector. */
export interface VectorRange {
  readonly offset: number;
  readonly size: number;
}

export interface StateVector {
  readonly name: string;
  readonly covers: readonly VectorRange[];
}

export interface Optimizer {
  stateVectors(table: ParameterTable): readonly StateVector[];
  longestStep(config: RunConfig): LongestStep;
  readonly largestRate: LargestRate;
}

/**
 * The largest learning rate at which audits can tell rounding from lies. Later steps are repeated from opened
 * parameters, which are rounded (core/update/shown_change.ts); the larger the rate, the larger the parameters grow and
 * the more a gradient depends on their last bits. At `rate` an honest gradient is off by less than a tenth of the proof
 * threshold; at `beyond` it is not.
 *
 * Measured at `toy` in rounds of 30 steps, 1,392 gradients for each rate; rounds of 100 steps and DiLoCo's outer step
 * double the errors at most.
 */
export interface LargestRate {
  readonly rate: number;
  readonly error: number; // the largest of honest gradients, relative to their squared norm
  readonly beyond: { readonly rate: number; readonly error: number }; // the next rate that was measured
}

/** The farthest that one step can go, in learning rates and before weight decay; Infinity if unbounded. */
export interface LongestStep {
  readonly value: number; // of any one value
  readonly rootMeanSquare: number; // over a whole stage
}

/** An optimizer's whole state of a stage. */
export interface OptimizerState {
  readonly vectors: Readonly<Record<string, Float32Array>>; // by name, each as long as its ranges
  readonly steps: number; // applied so far
}

/** Values of a state vector. */
export function stateLength({ covers }: StateVector): number {
  return covers.reduce((sum, { size }) => sum + size, 0);
}

/** The whole parameter vector, padding included. */
export function wholeVector({ length }: ParameterTable): readonly VectorRange[] {
  return [{ offset: 0, size: length }];
}
