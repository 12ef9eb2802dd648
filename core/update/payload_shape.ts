/**
 * The shape of a payload, small enough to keep: its norm by tensor, row and column, and a sketch of its direction.
 *
 * The sketch has a part per kind of tensor, because a payload reversed in only one kind may look like the others as a
 * whole. A part is a count sketch (Charikar, Chen, Farach-Colton, 2002): a keyed hash adds each value, with a sign, to
 * one of `sketchWidth` sums. Inner products estimate those of payloads, with a standard deviation of 1 /
 * sqrt(sketchWidth) of their norms. The key is secret until the round is over, so that nobody can craft a misleading
 * sketch.
 */

import { inUnits, type LongWork } from "../long_work.ts";
import type { ParameterTensor } from "../model/spec.ts";
import { PeakSum } from "./matrix_peaks.ts";

export const sketchWidth = 256; // of a part: a byte of the hash

export interface PayloadShape {
  readonly tensorSquares: readonly number[]; // in the table's order
  readonly peakSquares: readonly number[]; // matrix_peaks.ts
  readonly sketch: readonly number[]; // parts, in the order in which kinds begin
}

const valuesInUnit = 2 ** 18;

export class ShapeSum {
  readonly #tensors: readonly ParameterTensor[];
  readonly #peaks: PeakSum;
  readonly #squares: Float64Array;
  readonly #kinds: readonly number[];
  readonly #sketch: Float64Array;
  readonly #key: number;
  #tensor = 0;

  /** `key`: 32 bits. */
  constructor(tensors: readonly ParameterTensor[], key: number) {
    this.#tensors = tensors;
    this.#peaks = new PeakSum(tensors);
    this.#squares = new Float64Array(tensors.length);
    this.#kinds = kindsOf(tensors);
    this.#sketch = new Float64Array(sketchWidth * new Set(this.#kinds).size);
    this.#key = key;
  }

  /** Call in ascending order. Padding after the last tensor counts as part of it. */
  *add(values: Float32Array, offset: number): LongWork<void> {
    yield* inUnits({ total: values.length, unit: valuesInUnit }, (from, to) => {
      for (let at = from; at < to;) {
        const last = this.#tensors.length - 1;
        while (this.#tensor < last && offset + at >= this.#end) this.#tensor += 1;
        const end = this.#tensor === last ? to : Math.min(to, this.#end - offset);
        this.#squares[this.#tensor]! += this.#addRun(values, { from: at, to: end, offset });
        const start = this.#tensors[this.#tensor]!.offset;
        this.#peaks.add(this.#tensor, { values, from: at, to: end, at: offset + at - start });
        at = end;
      }
    });
  }

  finish(): PayloadShape {
    return { tensorSquares: [...this.#squares], peakSquares: this.#peaks.finish(), sketch: [...this.#sketch] };
  }

  get #end(): number {
    const { offset, size } = this.#tensors[this.#tensor]!;
    return offset + size;
  }

  #addRun(values: Float32Array, { from, to, offset }: { from: number; to: number; offset: number }): number {
    const part = sketchWidth * this.#kinds[this.#tensor]!;
    const [sketch, key] = [this.#sketch.subarray(part, part + sketchWidth), this.#key];
    let squares = 0;
    for (let i = from; i < to; i++) {
      const value = values[i]!;
      let hash = Math.imul((offset + i) ^ key, 0x9e3779b1);
      hash = Math.imul(hash ^ (hash >>> 15), 0x85ebca6b);
      hash ^= hash >>> 13;
      const place = hash >>> 24;
      sketch[place]! += (hash & 1) === 0 ? value : -value;
      squares += value * value;
    }
    return squares;
  }
}

/** Names that differ only in numbers have one kind. */
function kindsOf(tensors: readonly ParameterTensor[]): number[] {
  const kinds = new Map<string, number>();
  return tensors.map(({ name }) => {
    const kind = name.replace(/\d+/g, "");
    if (!kinds.has(kind)) kinds.set(kind, kinds.size);
    return kinds.get(kind)!;
  });
}

export function partsOf(sketch: readonly number[]): number[][] {
  return Array.from(
    { length: Math.ceil(sketch.length / sketchWidth) },
    (_, kind) => sketch.slice(kind * sketchWidth, (kind + 1) * sketchWidth),
  );
}

/** 0 if one is zero. */
export function cosineOf(a: readonly number[], b: readonly number[]): number {
  const lengths = Math.sqrt(inner(a, a) * inner(b, b));
  return lengths > 0 ? inner(a, b) / lengths : 0;
}

function inner(a: readonly number[], b: readonly number[]): number {
  return a.reduce((sum, value, i) => sum + value * b[i]!, 0);
}
