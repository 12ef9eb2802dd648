/** The speed of the processor's matrix product and attention (../speed), on as many threads as its stages have. */

import { type AttentionRequest, measureAttention } from "../speed/attention_speed.ts";
import type { BatchSpeed } from "../speed/batch_speed.ts";
import { type GemmRequest, type GemmSpeed, measureGemm } from "../speed/gemm_speed.ts";
import type { KernelPlace } from "../speed/kernel_place.ts";
import type { Dispatch } from "../stage_ops.ts";
import type { CpuDispatch } from "./cpu_dispatch.ts";
import { CpuMemory } from "./layout/memory.ts";
import { CpuOps } from "./ops.ts";
import type { StartHelpers } from "./threads/helper_messages.ts";
import { Team } from "./threads/team.ts";

const width = 256; // one product takes about a millisecond
const square = { kind: "forward", rows: width, inWidth: width, outWidth: width } as const;

interface Threads {
  readonly threads: number;
  readonly start: StartHelpers;
}

export function measureCpuGemm({ budgetMs, task = square }: GemmRequest, own: Threads): Promise<GemmSpeed> {
  return onPlace(own, (place) => measureGemm(place, { task, budgetMs }));
}

export function measureCpuAttention(request: AttentionRequest, own: Threads): Promise<BatchSpeed> {
  return onPlace(own, (place) => measureAttention(place, request));
}

async function onPlace<T>(
  { threads, start }: Threads,
  measure: (place: KernelPlace) => Promise<T>,
): Promise<T> {
  const buffers = new CpuMemory({ isShared: threads > 1 });
  const team = new Team(buffers, { threads });
  const run = (program: readonly Dispatch[], times: number) => {
    for (let i = 0; i < times; i++) {
      for (const dispatch of program) (dispatch as CpuDispatch).run(); // it is of this device
    }
    return Promise.resolve();
  };
  try {
    return await measure({ ops: new CpuOps(buffers, team), buffers, warmUp: () => team.start(start), run });
  } finally {
    team.close();
  }
}
