/**
 * Attention and rotary positions of one layer as dispatches, in place on the fused matrix of q, k and v. Kernels: generate/attention.ts and wgsl/rope.wgsl.
 */

import { type AttentionSizes, qkvWidth } from "../attention_sizes.ts";
import {
  attentionForwardSource,
  attentionKeyValueGradientSource,
  attentionQueryGradientSource,
} from "./generate/attention.ts";
import { floatBits, type Kernels } from "./kernel.ts";
import type { AttentionGradientTensors, AttentionTensors, BufferRange, Dispatch } from "../stage_ops.ts";
import rope from "./wgsl/rope.wgsl" with { type: "text" };

/** Direction 1 rotates q and k, -1 rotates their gradients back. */
export function rotate(
  kernels: Kernels,
  sizes: AttentionSizes & { direction: 1 | -1 },
  tensors: { table: BufferRange; qkv: BufferRange },
): Dispatch {
  const { sequences, length, heads, kvHeads, headWidth, direction } = sizes;
  const halfVectors = headWidth / 8;
  const pairs = (heads + kvHeads) * halfVectors;
  return kernels.dispatch({
    kernel: { label: "rope", source: rope },
    bindings: [tensors.table, tensors.qkv],
    constants: [length, qkvWidth(sizes) / 4, halfVectors, pairs, floatBits(direction)],
    workgroups: [Math.ceil(pairs / 32), sequences * length],
  });
}

export interface AttentionKernels {
  readonly kernels: Kernels;
  readonly lanes: number; // of a workgroup
}

export function attention(
  { kernels, lanes }: AttentionKernels,
  sizes: AttentionSizes,
  tensors: AttentionTensors,
): Dispatch {
  const { sequences, length, heads, headWidth } = sizes;
  return kernels.dispatch({
    kernel: { label: "attention", source: attentionForwardSource({ headWidth, lanes }) },
    bindings: [tensors.qkv, tensors.output, tensors.logSumExp],
    constants: shapeWords(sizes),
    workgroups: [Math.ceil(length / lanes), heads, sequences],
  });
}

export function attentionBackward(
  { kernels, lanes }: AttentionKernels,
  sizes: AttentionSizes,
  tensors: AttentionGradientTensors,
): Dispatch[] {
  const { sequences, length, heads, kvHeads, headWidth } = sizes;
  const { qkv, output, logSumExp, outputGradient, delta, qkvGradient } = tensors;
  const tiles = Math.ceil(length / lanes);
  const constants = shapeWords(sizes);
  return [
    kernels.dispatch({
      kernel: { label: "attention dq", source: attentionQueryGradientSource({ headWidth, lanes }) },
      bindings: [qkv, output, outputGradient, logSumExp, delta, qkvGradient],
      constants,
      workgroups: [tiles, heads, sequences],
    }),
    kernels.dispatch({
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
