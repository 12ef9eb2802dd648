/**
 * What the program needs to know of an optimizer: its state for a stage and how far a step can go.
 *
 * A state vector is float32, starts at zero and has one value per parameter in its ranges, packed in their order.
 * Ranges start and end at multiples of 64 floats; names are unique. The step is in `gpu/webgpu/optimizers`,
 * `gpu/cpu/updates.ts` and `tests/lab/reference`.
 */

import type { RunConfig } from "../config/config.ts";
import type { ParameterTable } from "../model/spec.ts";

/** In floats. */
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
 * The largest learning rate at which audits can tell rounding from lies: larger rates make a gradient depend more on
 * the last bits of opened parameters (core/update/shown_change.ts). At `rate` an honest gradient is off by less than a
 * tenth of the proof threshold, at `beyond` by more.
 *
 * Measured at `toy` in rounds of 30 steps, 1,392 gradients per rate; rounds of 100 steps and DiLoCo's outer step double
 * the errors at most.
 */
interface LargestRate {
  readonly rate: number;
  readonly error: number; // largest of honest gradients, relative to the squared norm
  readonly beyond: { readonly rate: number; readonly error: number }; // next measured rate
}

/** In learning rates, before weight decay; Infinity if unbounded. */
interface LongestStep {
  readonly value: number; // of a single value
  readonly rootMeanSquare: number; // over a whole stage
}

export interface OptimizerState {
  readonly vectors: Readonly<Record<string, Float32Array>>; // by name, as long as their ranges
  readonly steps: number;
}

/** In values. */
export function stateLength({ covers }: StateVector): number {
  return covers.reduce((sum, { size }) => sum + size, 0);
}

/** Padding included. */
export function wholeVector({ length }: ParameterTable): readonly VectorRange[] {
  return [{ offset: 0, size: length }];
}
