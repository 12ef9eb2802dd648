/**
 * The speed of a GPU's matrix product and attention (../speed).
 *
 * Owns: the default size. Invariant: its buffers are gone when it returns.
 */

import { type AttentionRequest, measureAttention } from "../speed/attention_speed.ts";
import type { BatchSpeed } from "../speed/batch_speed.ts";
import { type GemmRequest, type GemmSpeed, measureGemm } from "../speed/gemm_speed.ts";
import type { KernelPlace } from "../speed/kernel_place.ts";
import type { Dispatch } from "../stage_ops.ts";
import { StageBuffers } from "./buffers.ts";
import type { GpuDevice } from "./device.ts";
import { Kernels } from "./kernel.ts";
import { type KernelSettings, Ops } from "./ops.ts";

const softwareWidth = 512; // one product takes llvmpipe some 10 ms
const hardwareWidth = 2048; // enough workgroups for the largest GPUs; three matrices take 48 MiB

/** A device, and the settings of its kernels. */
export interface GpuWithSettings {
  readonly gpu: GpuDevice;
  readonly settings: KernelSettings;
}

export function measureGpuGemm(
  { gpu, settings }: GpuWithSettings,
  { budgetMs, task }: GemmRequest,
): Promise<GemmSpeed> {
  const width = gpu.adapter.isSoftware ? softwareWidth : hardwareWidth;
  const square = { kind: "forward", rows: width, inWidth: width, outWidth: width } as const;
  return onPlace({ gpu, settings }, (place) => measureGemm(place, { task: task ?? square, budgetMs }));
}

export function measureGpuAttention(on: GpuWithSettings, request: AttentionRequest): Promise<BatchSpeed> {
  return onPlace(on, (place) => measureAttention(place, request));
}

async function onPlace<T>(
  { gpu, settings }: GpuWithSettings,
  measure: (place: KernelPlace) => Promise<T>,
): Promise<T> {
  const kernels = new Kernels(gpu);
  const buffers = new StageBuffers(gpu);
  try {
    return await measure({
      ops: new Ops(kernels, settings),
      buffers,
      warmUp: () => kernels.warmUp(),
      run: async (program: readonly Dispatch[], times: number) => {
        kernels.run(Array.from({ length: times }, () => program).flat());
        await buffers.settle();
      },
    });
  } finally {
    buffers.destroy();
  }
}
