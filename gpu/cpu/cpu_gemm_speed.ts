/** The speed of the processor's matrix product (../gemm_speed.ts). */

import { type GemmRequest, type GemmSpeed, measureGemm } from "../gemm_speed.ts";
import type { Dispatch } from "../stage_ops.ts";
import { cpuKernels } from "./kernels/cpu_kernels.ts";
import type { CpuDispatch } from "./cpu_dispatch.ts";
import { CpuMemory } from "./memory.ts";
import { CpuOps } from "./ops.ts";

const width = 256; // one product takes about a millisecond
const square = { kind: "forward", rows: width, inWidth: width, outWidth: width } as const;

export function measureCpuGemm({ budgetMs, task = square }: GemmRequest): Promise<GemmSpeed> {
  const buffers = new CpuMemory();
  const ops = new CpuOps(buffers, cpuKernels(buffers.memory));
  const run = (product: Dispatch, times: number) => {
    for (let i = 0; i < times; i++) (product as CpuDispatch).run(); // it is of this device
    return Promise.resolve();
  };
  return measureGemm({ ops, buffers, warmUp: () => Promise.resolve(), run }, { task, budgetMs });
}
