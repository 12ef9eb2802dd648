/** The speed of matrix products, the bulk of a miner's work. */

import type { Dispatch, LinearSizes } from "../stage_ops.ts";
import { measureBatches } from "./batch_speed.ts";
import { filled, type KernelPlace } from "./kernel_place.ts";

/** The transposed operand, as matrix libraries call it. */
export const gemmForms = { forward: "NT", inputGradient: "NN", weightGradient: "TN" } as const;

/** y = x Wᵀ, dx = dy W, and dW += dyᵀ x. */
export type GemmKind = "forward" | "inputGradient" | "weightGradient";

export interface GemmTask extends LinearSizes {
  readonly kind: GemmKind;
}

export interface GemmRequest {
  readonly budgetMs: number;
  readonly task?: GemmTask | undefined; // @default square, forward, of the device's own size
}

export interface GemmSpeed {
  readonly flopsPerSecond: number; // a multiply-add counts as two
  readonly flopsPerCpuSecond: number; // user and system time of this process
  readonly width: number; // the product's columns
  readonly measuredMs: number; // of the best batch
}

export async function measureGemm(
  place: KernelPlace,
  { task, budgetMs }: { task: GemmTask; budgetMs: number },
): Promise<GemmSpeed> {
  const program = [productOf(place, task)];
  await place.warmUp();
  const units = 2 * task.rows * task.inWidth * task.outWidth;
  const speed = await measureBatches({ units, run: (times) => place.run(program, times) }, budgetMs);
  const { perSecond: flopsPerSecond, perCpuSecond: flopsPerCpuSecond, measuredMs } = speed;
  return { flopsPerSecond, flopsPerCpuSecond, measuredMs, width: task.outWidth };
}

function productOf(place: KernelPlace, { kind, ...sizes }: GemmTask): Dispatch {
  const { rows, inWidth, outWidth } = sizes;
  const { ops, buffers } = place;
  const x = filled(buffers, { label: "x", count: rows * inWidth });
  const y = filled(buffers, { label: "y", count: rows * outWidth });
  const w = filled(buffers, { label: "w", count: outWidth * inWidth });
  switch (kind) {
    case "forward":
      return ops.linear(sizes, { input: x, weight: w, output: y });
    case "inputGradient":
      return ops.linearInputGradient(sizes, { outputGradient: y, weight: w, inputGradient: x });
    case "weightGradient":
      return ops.linearWeightGradient(sizes, { outputGradient: y, input: x, weightGradient: w });
  }
}
