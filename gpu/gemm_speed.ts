/**
 * How fast a device multiplies matrices with the very products that stages use: the bulk of a miner's work.
 *
 * Owns: the operands, the clock and the batches, which grow until one takes a good part of the budget, so that a device's wait
 * for its queue barely counts; the best batch by the clock, and the best per CPU second, are the result.
 */

import process from "node:process";
import type { DeviceBuffers, Dispatch, LinearSizes, StageOps } from "./stage_ops.ts";

/** y = x Wᵀ, dx = dy W, and dW += dyᵀ x. */
export type GemmKind = "forward" | "inputGradient" | "weightGradient";

export interface GemmTask extends LinearSizes {
  readonly kind: GemmKind;
}

export interface GemmRequest {
  readonly budgetMs: number;
  readonly task?: GemmTask | undefined; // @default the device's own: square, forward
}

export interface GemmSpeed {
  readonly flopsPerSecond: number; // a multiply-add counted as two
  readonly flopsPerCpuSecond: number; // at its best: user and system time of this process
  readonly width: number; // columns of the product
  readonly measuredMs: number; // duration of the best batch
}

/** Where products are measured. */
export interface GemmPlace {
  readonly ops: StageOps;
  readonly buffers: DeviceBuffers;
  warmUp(): Promise<void>;
  /** Repeats the product, and returns when all are done. */
  run(product: Dispatch, times: number): Promise<void>;
}

const batchesInBudget = 4;

export async function measureGemm(
  place: GemmPlace,
  { task, budgetMs }: { task: GemmTask; budgetMs: number },
): Promise<GemmSpeed> {
  const product = productOf(place, task);
  await place.warmUp();
  const flops = 2 * task.rows * task.inWidth * task.outWidth;
  const endMs = performance.now() + budgetMs;
  const wantedMs = budgetMs / batchesInBudget;
  let best = { flopsPerSecond: 0, flopsPerCpuSecond: 0, measuredMs: 0 };
  for (let times = 1, lastMs = 0; best.flopsPerSecond === 0 || performance.now() + lastMs < endMs;) {
    const startMs = performance.now();
    const before = process.cpuUsage();
    await place.run(product, times);
    lastMs = performance.now() - startMs;
    const { user, system } = process.cpuUsage(before);
    const flopsPerSecond = 1000 * times * flops / lastMs;
    const flopsPerCpuSecond = 1e6 * times * flops / Math.max(1, user + system);
    const isFastest = flopsPerSecond > best.flopsPerSecond;
    best = {
      ...(isFastest ? { flopsPerSecond, measuredMs: lastMs } : best),
      flopsPerCpuSecond: Math.max(best.flopsPerCpuSecond, flopsPerCpuSecond),
    };
    if (lastMs < wantedMs) times = Math.ceil(times * Math.min(8, wantedMs / lastMs));
  }
  return { ...best, width: task.outWidth };
}

function productOf({ ops, buffers }: GemmPlace, { kind, ...sizes }: GemmTask): Dispatch {
  const { rows, inWidth, outWidth } = sizes;
  const filled = (label: string, count: number) => {
    const range = buffers.storage(label, count);
    buffers.upload(range, Float32Array.from({ length: count }, (_, i) => (i % 251) / 251 - 0.5)); // zeros run cooler
    return range;
  };
  const [x, y, w] = [filled("x", rows * inWidth), filled("y", rows * outWidth), filled("w", outWidth * inWidth)];
  switch (kind) {
    case "forward":
      return ops.linear(sizes, { input: x, weight: w, output: y });
    case "inputGradient":
      return ops.linearInputGradient(sizes, { outputGradient: y, weight: w, inputGradient: x });
    case "weightGradient":
      return ops.linearWeightGradient(sizes, { outputGradient: y, input: x, weightGradient: w });
  }
}
