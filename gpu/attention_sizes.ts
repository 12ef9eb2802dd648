/** q, k and v are one (B * T, (heads + 2 kvHeads) * headWidth) matrix. */

import { assert } from "../core/assert.ts";
import { sineAndCosine } from "../core/exact_math.ts";
import { ropeFrequencies } from "../core/model/rope.ts";
import type { ModelShape } from "../core/model/shape.ts";
import type { StageSpec } from "../core/model/spec.ts";

export interface AttentionSizes {
  readonly sequences: number; // B
  readonly length: number; // T
  readonly heads: number;
  readonly kvHeads: number;
  readonly headWidth: number;
}

export function attentionSizes(spec: StageSpec): AttentionSizes {
  const { width, heads, kvHeads, contextLength } = spec.model;
  const headWidth = width / heads;
  assert(headWidth % 8 === 0, `Cannot rotate as the head width must be a multiple of 8: current value is ${headWidth}`);
  assert(heads % kvHeads === 0, `heads ${heads} must be a multiple of kvHeads ${kvHeads}`);
  return { sequences: spec.sequences, length: contextLength, heads, kvHeads, headWidth };
}

export const qkvWidth = (sizes: Pick<AttentionSizes, "heads" | "kvHeads" | "headWidth">): number =>
  (sizes.heads + 2 * sizes.kvHeads) * sizes.headWidth;

/** Cosines, then sines, each (T, headWidth / 2), the same on every machine. */
export function ropeTable({ length, headWidth }: AttentionSizes, model: ModelShape): Float32Array {
  const half = headWidth / 2;
  const table = new Float32Array(2 * length * half);
  for (const [i, frequency] of ropeFrequencies(model, headWidth).entries()) {
    for (let position = 0; position < length; position++) {
      const { sine, cosine } = sineAndCosine(position * frequency);
      table[position * half + i] = cosine;
      table[(length + position) * half + i] = sine;
    }
  }
  return table;
}
