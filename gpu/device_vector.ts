/**
 * A stage's flat vector on a device, in one or several buffers. It is cut between tensors if possible, otherwise within
 * a large matrix at a multiple of 64 rows. All vectors of a stage have the same cuts, so a piece of one lies in one
 * buffer of each. Offsets and sizes are in floats.
 */

import { assert, present } from "../core/assert.ts";
import type { ParameterTable } from "../core/model/spec.ts";
import type { StateVector, VectorRange } from "../core/train/optimizer.ts";
import { type BufferRange, type DeviceBuffers, partOf } from "./stage_ops.ts";

interface VectorPiece extends VectorRange {
  readonly range: BufferRange;
}

const rowsMultiple = 64; // any adapter can bind a piece of a matrix there

const continuation = /\.(k_proj|v_proj|up_proj)\.weight$/; // one matrix with its predecessor: layers/block.ts

interface Unit {
  readonly offset: number;
  end: number; // of its padding
  readonly columns: number;
}

function unitsOf({ tensors, length }: ParameterTable): Unit[] {
  const units: Unit[] = [];
  for (const [i, { name, shape: [rows = 1], offset, size }] of tensors.entries()) {
    const end = tensors[i + 1]?.offset ?? length;
    const last = units.at(-1);
    if (continuation.test(name) && last !== undefined) last.end = end;
    else units.push({ offset, end, columns: size / rows });
  }
  return units;
}

/** Ascending, without 0 and the end. */
export function cutsOf(table: ParameterTable, mostFloats: number): number[] {
  const cuts: number[] = [];
  let start = 0;
  const cutAt = (offset: number) => {
    if (offset > start) cuts.push(offset);
    start = offset;
  };
  for (const { offset, end, columns } of unitsOf(table)) {
    if (end - start <= mostFloats) continue;
    cutAt(offset);
    if (end - offset <= mostFloats) continue;
    const block = rowsMultiple * columns;
    const step = block * Math.max(1, Math.floor(mostFloats / block));
    for (let at = offset + step; at < end; at += step) cutAt(at);
  }
  return cuts;
}

export class DeviceVector {
  readonly length: number;
  readonly #pieces: readonly VectorPiece[];

  private constructor(pieces: readonly VectorPiece[]) {
    this.#pieces = pieces;
    this.length = pieces.reduce((sum, { size }) => sum + size, 0);
  }

  /** Zero-filled, in the order of `covers`. */
  static store(
    buffers: DeviceBuffers,
    { label, covers, cuts }: { label: string; covers: readonly VectorRange[]; cuts: readonly number[] },
  ): DeviceVector {
    const sizes: number[] = [];
    let part = -1;
    for (const { offset, size } of covers.flatMap((range) => cutRange(range, cuts))) {
      const own = cuts.filter((cut) => cut <= offset).length;
      if (own === part) sizes[sizes.length - 1]! += size;
      else sizes.push(size);
      part = own;
    }
    let offset = 0;
    const pieces = sizes.map((size, i): VectorPiece => {
      const name = sizes.length === 1 ? label : `${label}, part ${i + 1} of ${sizes.length}`;
      const piece = { offset, size, range: buffers.storage(name, size) };
      offset += size;
      return piece;
    });
    return new DeviceVector(pieces);
  }

  get ranges(): readonly BufferRange[] {
    return this.#pieces.map(({ range }) => range);
  }

  part(wanted: VectorRange): BufferRange {
    const [piece, ...others] = this.pieces(wanted);
    assert(others.length === 0, `Cannot use floats ${wanted.offset} to ${wanted.offset + wanted.size} as one range`);
    return present(piece, "a part is not empty").range;
  }

  pieces({ offset, size }: VectorRange): VectorPiece[] {
    return this.#pieces.flatMap((piece) => {
      const start = Math.max(offset, piece.offset);
      const end = Math.min(offset + size, piece.offset + piece.size);
      if (start >= end) return [];
      const range = partOf(piece.range, { offset: start - piece.offset, size: end - start });
      return [{ offset: start, size: end - start, range }];
    });
  }
}

/** `cuts` ascend. */
export function cutRange({ offset, size }: VectorRange, cuts: readonly number[]): VectorRange[] {
  const end = offset + size;
  const starts = [offset, ...cuts.filter((cut) => cut > offset && cut < end)];
  return starts.map((start, i) => ({ offset: start, size: (starts[i + 1] ?? end) - start }));
}

export interface DeviceVectors {
  readonly cuts: readonly number[];
  readonly parameters: DeviceVector;
  readonly gradients: DeviceVector; // empty if the stage does not train
  readonly state: ReadonlyMap<string, DeviceState>;
}

interface DeviceState {
  readonly vector: DeviceVector;
  readonly covers: readonly VectorRange[];
}

export function storeVectors(
  buffers: DeviceBuffers,
  { table, state, trains = true }: { table: ParameterTable; state: readonly StateVector[]; trains?: boolean },
): DeviceVectors {
  const cuts = cutsOf(table, buffers.largestBytes / 4);
  const whole = [{ offset: 0, size: table.length }];
  const store = (label: string, covers: readonly VectorRange[]) => DeviceVector.store(buffers, { label, covers, cuts });
  const [parameters, gradients] = [store("parameters", whole), store("gradients", trains ? whole : [])];
  const stored = new Map(state.map(({ name, covers }) => [name, { vector: store(name, covers), covers }] as const));
  return { cuts, parameters, gradients, state: stored };
}
