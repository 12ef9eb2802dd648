/** The speed of the processor's matrix product and attention (../speed). */

import { type AttentionRequest, measureAttention } from "../speed/attention_speed.ts";
import type { BatchSpeed } from "../speed/batch_speed.ts";
import { type GemmRequest, type GemmSpeed, measureGemm } from "../speed/gemm_speed.ts";
import type { KernelPlace } from "../speed/kernel_place.ts";
import type { Dispatch } from "../stage_ops.ts";
import { cpuKernels } from "./kernels/cpu_kernels.ts";
import type { CpuDispatch } from "./cpu_dispatch.ts";
import { CpuMemory } from "./memory.ts";
import { CpuOps } from "./ops.ts";

const width = 256; // one product takes about a millisecond
const square = { kind: "forward", rows: width, inWidth: width, outWidth: width } as const;

export function measureCpuGemm({ budgetMs, task = square }: GemmRequest): Promise<GemmSpeed> {
  return measureGemm(cpuPlace(), { task, budgetMs });
}

export function measureCpuAttention(request: AttentionRequest): Promise<BatchSpeed> {
  return measureAttention(cpuPlace(), request);
}

function cpuPlace(): KernelPlace {
  const buffers = new CpuMemory();
  const ops = new CpuOps(buffers, cpuKernels(buffers.memory));
  const run = (program: readonly Dispatch[], times: number) => {
    for (let i = 0; i < times; i++) {
      for (const dispatch of program) (dispatch as CpuDispatch).run(); // it is of this device
    }
    return Promise.resolve();
  };
  return { ops, buffers, warmUp: () => Promise.resolve(), run };
}
