/**
 * Attention and rotary positions of one layer as dispatches, in place on the fused (B * T, (heads + 2 kvHeads) * headWidth)
 * matrix of q, k and v. Kernels: generate/attention.ts and wgsl/rope.wgsl.
 */

import { assert } from "../core/assert.ts";
import type { StageSpec } from "../core/model/spec.ts";
import type { BufferRange } from "./buffers.ts";
import {
  attentionForwardSource,
  attentionKeyValueGradientSource,
  attentionQueryGradientSource,
} from "./generate/attention.ts";
import { type Dispatch, floatBits } from "./kernel.ts";
import type { Ops } from "./ops.ts";
import rope from "./wgsl/rope.wgsl" with { type: "text" };

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
  assert(heads % kvHeads === 0, `Cannot group heads as heads ${heads} must be a multiple of kvHeads ${kvHeads}`);
  return { sequences: spec.sequences, length: contextLength, heads, kvHeads, headWidth };
}

/** Columns of the fused matrix. */
export const qkvWidth = (sizes: AttentionSizes): number => (sizes.heads + 2 * sizes.kvHeads) * sizes.headWidth;

/** Cosines, then sines, each (T, headWidth / 2), computed in float64. */
export function ropeTable({ length, headWidth }: AttentionSizes, base: number): Float32Array {
  const half = headWidth / 2;
  const table = new Float32Array(2 * length * half);
  for (let position = 0; position < length; position++) {
    for (let i = 0; i < half; i++) {
      const angle = position * Math.pow(base, -i / half);
      table[position * half + i] = Math.cos(angle);
      table[(length + position) * half + i] = Math.sin(angle);
    }
  }
  return table;
}

/** Direction 1 rotates q and k, -1 rotates their gradients back. */
export function rotate(
  ops: Ops,
  sizes: AttentionSizes & { direction: 1 | -1 },
  tensors: { table: BufferRange; qkv: BufferRange },
): Dispatch {
  const { sequences, length, heads, kvHeads, headWidth, direction } = sizes;
  const halfVectors = headWidth / 8;
  const pairs = (heads + kvHeads) * halfVectors;
  return ops.kernels.dispatch({
    kernel: { label: "rope", source: rope },
    bindings: [tensors.table, tensors.qkv],
    constants: [length, qkvWidth(sizes) / 4, halfVectors, pairs, floatBits(direction)],
    workgroups: [Math.ceil(pairs / 32), sequences * length],
  });
}

export interface AttentionTensors {
  readonly qkv: BufferRange;
  readonly output: BufferRange; // (B * T, heads * headWidth)
  readonly logSumExp: BufferRange; // (B, heads, T)
}

export function attention(ops: Ops, sizes: AttentionSizes, tensors: AttentionTensors): Dispatch {
  const { sequences, length, heads, headWidth } = sizes;
  const lanes = ops.settings.attentionLanes;
  return ops.kernels.dispatch({
    kernel: { label: "attention", source: attentionForwardSource({ headWidth, lanes }) },
    bindings: [tensors.qkv, tensors.output, tensors.logSumExp],
    constants: shapeWords(sizes),
    workgroups: [Math.ceil(length / lanes), heads, sequences],
  });
}

export function attentionBackward(
  ops: Ops,
  sizes: AttentionSizes,
  tensors: AttentionTensors & {
    outputGradient: BufferRange;
    delta: BufferRange; // (B, heads, T), scratch
    qkvGradient: BufferRange;
  },
): Dispatch[] {
  const { sequences, length, heads, kvHeads, headWidth } = sizes;
  const { qkv, output, logSumExp, outputGradient, delta, qkvGradient } = tensors;
  const lanes = ops.settings.attentionLanes;
  const tiles = Math.ceil(length / lanes);
  const constants = shapeWords(sizes);
  return [
    ops.kernels.dispatch({
      kernel: { label: "attention dq", source: attentionQueryGradientSource({ headWidth, lanes }) },
      bindings: [qkv, output, outputGradient, logSumExp, delta, qkvGradient],
      constants,
      workgroups: [tiles, heads, sequences],
    }),
    ops.kernels.dispatch({
      kernel: { label: "attention dkv", source: attentionKeyValueGradientSource({ headWidth, lanes }) },
      bindings: [qkv, outputGradient, logSumExp, delta, qkvGradient],
      constants,
      workgroups: [tiles, kvHeads, sequences],
    }),
  ];
}

function shapeWords({ length, heads, kvHeads, headWidth }: AttentionSizes): number[] {
  const group = heads / kvHeads;
  return [length, heads, kvHeads, group, Math.ceil(65536 / group), floatBits(1 / Math.sqrt(headWidth))];
}
