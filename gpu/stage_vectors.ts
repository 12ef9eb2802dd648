/**
 * An optimizer's update, built once. It reads and clears the accumulated gradient, and changes only parameters that its
 * state covers.
 */

import type { ParameterTable } from "../core/model/spec.ts";
import type { StepOptions } from "./compute.ts";
import type { DeviceVectors } from "./device_vector.ts";
import type { BufferRange, Dispatch } from "./stage_ops.ts";

export interface VectorParts {
  readonly table: ParameterTable;
  readonly vectors: DeviceVectors;
}

interface Upload {
  readonly range: BufferRange;
  readonly values: Float32Array;
}

export interface Update {
  readonly dispatches: readonly Dispatch[];
  /** `steps` counts from 1. */
  uploads(options: StepOptions, steps: number): readonly Upload[];
}

export interface GradientNorm {
  readonly dispatches: readonly Dispatch[];
  readonly partialSums: BufferRange; // f32; their sum is the squared norm
}
