/**
 * What an optimizer keeps for a stage, and how far it can go: all that others need to know of one.
 *
 * State vectors are named lists of float32 that start at zero. Each covers ranges of the stage's parameter vector, one value of
 * state for each value of them, packed in the order of the ranges; so an optimizer may keep one vector for the matrices of the
 * blocks and two for everything else.
 * Invariants: ranges start and end at multiples of 64 floats, as tensors do; names are unique within an optimizer.
 * Out of scope: the step itself (`gpu/optimizers` and its oracle in `gpu/reference`), schedules (`schedule.ts`).
 */

import type { TrainConfig } from "../config/config.ts";
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
  /** How far one step can move a value, in learning rates and before weight decay; Infinity where there is no bound. */
  longestStep(config: TrainConfig): number;
}

/** Everything an optimizer knows of a stage beside its parameters: what a miner keeps on disk. */
export interface OptimizerState {
  readonly vectors: Readonly<Record<string, Float32Array>>; // by name, each as long as what it covers
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
