/**
 * What an optimizer on a GPU is built from, and the cutting of ranges that are larger than one storage binding.
 */

import { assert } from "../../../core/assert.ts";
import type { VectorRange } from "../../../core/train/optimizer.ts";
import { cutRange } from "../../device_vector.ts";
import type { VectorParts } from "../../stage_vectors.ts";
import type { StageBuffers } from "../buffers.ts";
import type { Ops } from "../ops.ts";

export interface UpdateParts extends VectorParts {
  readonly ops: Ops;
  readonly buffers: StageBuffers;
  readonly bindingBytes: number; // of the largest storage binding
}

/** A piece of the parameter vector and where its state begins. */
export interface Piece extends VectorRange {
  readonly stateOffset: number;
}

/** The ranges in pieces of at most one binding and one buffer, each beginning at a multiple of 256 bytes. */
export function piecesOf(
  covers: readonly VectorRange[],
  { bindingBytes, cuts }: { bindingBytes: number; cuts: readonly number[] },
): Piece[] {
  const most = Math.floor(bindingBytes / 1024) * 256; // floats
  assert(most > 0, `Cannot cut a vector as a binding must hold 1024 bytes: current value is ${bindingBytes}`);
  const pieces: Piece[] = [];
  let stateOffset = 0;
  for (const { offset, size } of covers.flatMap((range) => cutRange(range, cuts))) {
    for (let start = 0; start < size; start += most) {
      const length = Math.min(most, size - start);
      pieces.push({ offset: offset + start, size: length, stateOffset });
      stateOffset += length;
    }
  }
  return pieces;
}
