/**
 * A stage's vectors on its device, and what an optimizer's update of them is: built once, then repeated; a step uploads a few
 * numbers.
 *
 * Invariant: an update reads and clears the accumulated gradient, and changes no parameter outside the ranges that its state
 * covers. The updates themselves: webgpu/optimizers, cpu/updates.ts; the oracle is reference/updates.ts.
 */

import type { ParameterTable } from "../core/model/spec.ts";
import { stateLength, type StateVector, type VectorRange } from "../core/train/optimizer.ts";
import type { StageVector, StepOptions } from "./compute.ts";
import type { BufferRange, DeviceBuffers, Dispatch } from "./stage_ops.ts";

/** A stage's vectors on the device. */
export interface DeviceVectors {
  readonly parameters: BufferRange;
  readonly gradients: BufferRange;
  readonly state: ReadonlyMap<StageVector, DeviceState>;
}

/** A state vector: one value for each value it covers, packed in this order. */
export interface DeviceState {
  readonly range: BufferRange;
  readonly covers: readonly VectorRange[];
}

export function storeVectors(
  buffers: DeviceBuffers,
  { table, state }: { table: ParameterTable; state: readonly StateVector[] },
): DeviceVectors {
  const parameters = buffers.storage("parameters", table.length);
  const gradients = buffers.storage("gradients", table.length);
  const stored = new Map<StageVector, DeviceState>();
  for (const vector of state) {
    const { name, covers } = vector;
    stored.set(name, { range: buffers.storage(name, stateLength(vector)), covers });
  }
  return { parameters, gradients, state: stored };
}

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

/** Floats of a buffer's range. */
export function partOf(range: BufferRange, { offset, size }: VectorRange): BufferRange {
  return { buffer: range.buffer, offset: range.offset + offset * 4, size: size * 4 };
}
