/**
 * The speed of causal attention. FLOPs count unmasked work: two products of T (T + 1) / 2 dot products forward, five
 * backward.
 */

import type { AttentionSizes } from "../attention_sizes.ts";
import { qkvWidth } from "../attention_sizes.ts";
import type { Dispatch } from "../stage_ops.ts";
import { type BatchSpeed, measureBatches } from "./batch_speed.ts";
import { filled, type KernelPlace } from "./kernel_place.ts";

export type AttentionPass = "forward" | "backward";

export interface AttentionTask extends AttentionSizes {
  readonly pass: AttentionPass;
}

export interface AttentionRequest {
  readonly budgetMs: number;
  readonly task: AttentionTask;
}

const products: Readonly<Record<AttentionPass, number>> = { forward: 2, backward: 5 };

export function attentionFlops({ pass, sequences, length, heads, headWidth }: AttentionTask): number {
  return products[pass] * 2 * sequences * heads * headWidth * length * (length + 1) / 2;
}

export async function measureAttention(
  place: KernelPlace,
  { task, budgetMs }: AttentionRequest,
): Promise<BatchSpeed> {
  const { forward, backward } = programsOf(place, task);
  await place.warmUp();
  await place.run(forward, 1); // the backward reads its results
  const program = task.pass === "forward" ? forward : backward;
  return await measureBatches({ units: attentionFlops(task), run: (times) => place.run(program, times) }, budgetMs);
}

function programsOf({ ops, buffers }: KernelPlace, { pass: _, ...sizes }: AttentionTask): Record<
  AttentionPass,
  readonly Dispatch[]
> {
  const { sequences, length, heads, headWidth } = sizes;
  const rows = sequences * length;
  const tensors = {
    qkv: filled(buffers, { label: "qkv", count: rows * qkvWidth(sizes) }),
    output: buffers.storage("output", rows * heads * headWidth),
    logSumExp: buffers.storage("logSumExp", rows * heads),
  };
  const gradients = {
    outputGradient: filled(buffers, { label: "outputGradient", count: rows * heads * headWidth }),
    delta: buffers.storage("delta", rows * heads),
    qkvGradient: buffers.storage("qkvGradient", rows * qkvWidth(sizes)),
  };
  return {
    forward: [ops.attention(sizes, tensors)],
    backward: ops.attentionBackward(sizes, { ...tensors, ...gradients }),
  };
}
