/**
 * The interface of an optimizer on the device. An update and its dispatches are built once; a step uploads a few numbers and
 * replays them.
 *
 * Owns: cutting ranges of the parameter vector that are larger than one storage binding. Invariant: an update reads and clears
 * the accumulated gradient, and changes no parameter outside the ranges that its state covers.
 */

import { assert } from "../../core/assert.ts";
import type { ParameterTable } from "../../core/model/spec.ts";
import { stateLength, type StateVector, type VectorRange } from "../../core/train/optimizer.ts";
import type { BufferRange, StageBuffers } from "../buffers.ts";
import type { StageVector, StepOptions } from "../compute.ts";
import type { Dispatch } from "../kernel.ts";
import type { Ops } from "../ops.ts";

/** A stage's vectors on the device. */
export interface DeviceVectors {
  readonly parameters: BufferRange;
  readonly gradients: BufferRange;
  readonly state: ReadonlyMap<StageVector, DeviceState>;
}

/** A state vector: one value for each value of what it covers, packed in this order. */
export interface DeviceState {
  readonly range: BufferRange;
  readonly covers: readonly VectorRange[];
}

export function storeVectors(
  buffers: StageBuffers,
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

export interface UpdateParts {
  readonly ops: Ops;
  readonly buffers: StageBuffers;
  readonly table: ParameterTable;
  readonly vectors: DeviceVectors;
  readonly bindingBytes: number; // of the largest storage binding
}

export interface Upload {
  readonly range: BufferRange;
  readonly values: Float32Array;
}

export interface Update {
  readonly dispatches: readonly Dispatch[];
  /** To be uploaded before the `steps`-th step, counted from 1. */
  uploads(options: StepOptions, steps: number): readonly Upload[];
}

/** A piece of the parameter vector and where the state of it begins. */
export interface Piece extends VectorRange {
  readonly stateOffset: number;
}

/** The ranges in pieces of at most one binding, each beginning at a multiple of 256 bytes. */
export function piecesOf(covers: readonly VectorRange[], bindingBytes: number): Piece[] {
  const most = Math.floor(bindingBytes / 1024) * 256; // floats
  assert(most > 0, `Cannot cut a vector as a binding must hold 1024 bytes: current value is ${bindingBytes}`);
  const pieces: Piece[] = [];
  let stateOffset = 0;
  for (const { offset, size } of covers) {
    for (let start = 0; start < size; start += most) {
      const length = Math.min(most, size - start);
      pieces.push({ offset: offset + start, size: length, stateOffset });
      stateOffset += length;
    }
  }
  return pieces;
}

/** Floats of a buffer's range. */
export function partOf(range: BufferRange, { offset, size }: VectorRange): BufferRange {
  return { buffer: range.buffer, offset: range.offset + offset * 4, size: size * 4 };
}
