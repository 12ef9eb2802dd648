/**
 * The speed of a GPU's matrix product (../gemm_speed.ts).
 *
 * Owns: the size and the warm-up. Invariant: its buffers are gone when it returns.
 */

import { type GemmSpeed, measureProducts } from "../gemm_speed.ts";
import { StageBuffers } from "./buffers.ts";
import type { GpuDevice } from "./device.ts";
import { Kernels } from "./kernel.ts";
import { hardwareKernels, Ops, softwareKernels } from "./ops.ts";

const softwareWidth = 512; // one product takes llvmpipe some 10 ms
const hardwareWidth = 2048; // enough workgroups for the largest GPUs; three matrices take 48 MiB

export async function measureGpuGemm(gpu: GpuDevice, { budgetMs }: { budgetMs: number }): Promise<GemmSpeed> {
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
    const run = async (products: number) => {
      kernels.run(Array.from({ length: products }, () => product));
      await buffers.settle();
    };
    return await measureProducts(run, { width, budgetMs });
  } finally {
    buffers.destroy();
  }
}
