/**
 * What an optimizer's update of a stage's vectors is: built once, then repeated; a step uploads a few numbers.
 *
 * Invariant: an update reads and clears the accumulated gradient, and changes no parameter outside the ranges that its state
 * covers. The updates themselves: webgpu/optimizers, cpu/updates.ts; the oracle is reference/updates.ts.
 */

import type { ParameterTable } from "../core/model/spec.ts";
import type { StepOptions } from "./compute.ts";
import type { DeviceVectors } from "./device_vector.ts";
import type { BufferRange, Dispatch } from "./stage_ops.ts";

/** What an update works on. */
export interface VectorParts {
  readonly table: ParameterTable;
  readonly vectors: DeviceVectors;
}

export interface Upload {
  readonly range: BufferRange;
  readonly values: Float32Array;
}

export interface Update {
  readonly dispatches: readonly Dispatch[];
  /** The constants to upload before the `steps`-th step, counted from 1. */
  uploads(options: StepOptions, steps: number): readonly Upload[];
}

export interface GradientNorm {
  readonly dispatches: readonly Dispatch[];
  readonly partialSums: BufferRange; // f32; their sum is the squared norm
}
