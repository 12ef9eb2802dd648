/**
 * The speed of a GPU's matrix product (../gemm_speed.ts).
 *
 * Owns: the default size. Invariant: its buffers are gone when it returns.
 */

import { type GemmRequest, type GemmSpeed, measureGemm } from "../gemm_speed.ts";
import { StageBuffers } from "./buffers.ts";
import type { GpuDevice } from "./device.ts";
import { Kernels } from "./kernel.ts";
import { hardwareKernels, Ops, softwareKernels } from "./ops.ts";

const softwareWidth = 512; // one product takes llvmpipe some 10 ms
const hardwareWidth = 2048; // enough workgroups for the largest GPUs; three matrices take 48 MiB

export async function measureGpuGemm(gpu: GpuDevice, { budgetMs, task }: GemmRequest): Promise<GemmSpeed> {
  const { isSoftware } = gpu.adapter;
  const width = isSoftware ? softwareWidth : hardwareWidth;
  const square = { kind: "forward", rows: width, inWidth: width, outWidth: width } as const;
  const kernels = new Kernels(gpu);
  const buffers = new StageBuffers(gpu);
  const place = {
    ops: new Ops(kernels, isSoftware ? softwareKernels : hardwareKernels),
    buffers,
    warmUp: () => kernels.warmUp(),
    run: async (product: Parameters<Kernels["run"]>[0][number], times: number) => {
      kernels.run(Array.from({ length: times }, () => product));
      await buffers.settle();
    },
  };
  try {
    return await measureGemm(place, { task: task ?? square, budgetMs });
  } finally {
    buffers.destroy();
  }
}
