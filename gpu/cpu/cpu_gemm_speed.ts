/** The speed of the processor's matrix product (../gemm_speed.ts). */

import { type GemmRequest, type GemmSpeed, measureGemm } from "../gemm_speed.ts";
import type { Dispatch } from "../stage_ops.ts";
import type { CpuDispatch } from "./cpu_dispatch.ts";
import { CpuMemory } from "./memory.ts";
import { CpuOps } from "./ops.ts";
import type { StartHelpers } from "./threads/helper_messages.ts";
import { Team } from "./threads/team.ts";

const width = 256; // one product takes about a millisecond
const square = { kind: "forward", rows: width, inWidth: width, outWidth: width } as const;

export async function measureCpuGemm(
  { budgetMs, task = square }: GemmRequest,
  { threads, start }: { threads: number; start: StartHelpers },
): Promise<GemmSpeed> {
  const buffers = new CpuMemory({ isShared: threads > 1 });
  const team = new Team(buffers, { threads });
  const ops = new CpuOps(buffers, team);
  const run = (product: Dispatch, times: number) => {
    for (let i = 0; i < times; i++) (product as CpuDispatch).run(); // it is of this device
    return Promise.resolve();
  };
  try {
    return await measureGemm({ ops, buffers, warmUp: () => team.start(start), run }, { task, budgetMs });
  } finally {
    team.close();
  }
}
