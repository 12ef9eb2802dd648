/**
 * How fast this device multiplies matrices with the kernel that stages use, in FLOP/s: the bulk of a miner's work.
 *
 * Owns: the size, the warm-up and the clock. Batches grow until one takes a good part of the budget, so that the wait for the
 * queue (about 10 ms in Deno) barely counts; the best batch is the result. Invariant: its buffers are gone when it returns.
 */

import { StageBuffers } from "./buffers.ts";
import type { GpuDevice } from "./device.ts";
import { Kernels } from "./kernel.ts";
import { hardwareKernels, Ops, softwareKernels } from "./ops.ts";

export interface GemmSpeed {
  readonly flopsPerSecond: number; // a multiply-add counted as two
  readonly width: number; // of the square matrices
  readonly measuredMs: number; // duration of the best batch
}

const softwareWidth = 512; // one product takes llvmpipe some 10 ms
const hardwareWidth = 2048; // enough workgroups for the largest GPUs; three matrices take 48 MiB
const batchesInBudget = 4;

export async function measureGemm(gpu: GpuDevice, { budgetMs }: { budgetMs: number }): Promise<GemmSpeed> {
  const { isSoftware } = gpu.adapter;
  const width = isSoftware ? softwareWidth : hardwareWidth;
  const kernels = new Kernels(gpu);
  const buffers = new StageBuffers(gpu);
  try {
    const [input, weight, output] = ["input", "weight", "output"].map((name) => buffers.storage(name, width * width));
    const values = Float32Array.from({ length: width * width }, (_, i) => (i % 251) / 251 - 0.5); // zeros run cooler
    buffers.upload(input!, values);
    buffers.upload(weight!, values);
    const ops = new Ops(kernels, isSoftware ? softwareKernels : hardwareKernels);
    const sizes = { rows: width, inWidth: width, outWidth: width };
    const product = ops.linear(sizes, { input: input!, weight: weight!, output: output! });
    await kernels.warmUp();
    const batchMs = async (products: number) => {
      const startMs = performance.now();
      kernels.run(Array.from({ length: products }, () => product));
      await buffers.settle();
      return performance.now() - startMs;
    };
    const endMs = performance.now() + budgetMs;
    const wantedMs = budgetMs / batchesInBudget;
    let best = { flopsPerSecond: 0, measuredMs: 0 };
    for (let products = 1, lastMs = 0; best.flopsPerSecond === 0 || performance.now() + lastMs < endMs;) {
      lastMs = await batchMs(products);
      const flopsPerSecond = 1000 * products * 2 * width ** 3 / lastMs;
      if (flopsPerSecond > best.flopsPerSecond) best = { flopsPerSecond, measuredMs: lastMs };
      if (lastMs < wantedMs) products = Math.ceil(products * Math.min(8, wantedMs / lastMs));
    }
    return { ...best, width };
  } finally {
    buffers.destroy();
  }
}
