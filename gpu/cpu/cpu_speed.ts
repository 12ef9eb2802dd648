/** The speed of the processor's products and attention, on all threads of a stage. */

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
import { type AdapterSpeed, measureAdapterSpeed } from "../speed/adapter_speed.ts";
import { f32, f32x4, i32, v128 } from "./wasm/expressions.ts";
import { ModuleBuilder } from "./wasm/module_builder.ts";

const width = 256; // one product takes about 1 ms
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
      for (const dispatch of program) (dispatch as CpuDispatch).run();
    }
    return Promise.resolve();
  };
  try {
    return await measure({ ops: new CpuOps(buffers, team), buffers, warmUp: () => team.start(start), run });
  } finally {
    team.close();
  }
}

/** One thread's peak (../speed/adapter_speed.ts): 128-bit multiply-adds, unfused for exact results, and copies. */
const chains = 12; // independent sums, filling most of the sixteen registers
const unrolled = 4;
const rounds = 4096;
const lanes = 4;
const copiedBytes = 64 << 20; // beyond a core's caches
const uploadedBytes = 16 << 20; // a wire's size

/** sum * factor + addend stays finite. */
function peakModule(): Uint8Array<ArrayBuffer> {
  const module = new ModuleBuilder();
  module.function("multiplyAdds", { rounds: "i32" }, (f, { rounds: given }) => {
    const factor = f.let(f32x4.splat(f32.of(0.5)));
    const addend = f.let(f32x4.splat(f32.of(1)));
    const sums = Array.from({ length: chains }, (_, i) => f.let(f32x4.splat(f32.of(i))));
    const left = f.let(given);
    f.countDown(left, () => {
      for (let i = 0; i < unrolled; i++) {
        for (const sum of sums) f.set(sum, f32x4.add(f32x4.mul(sum, factor), addend));
      }
    });
    sums.forEach((sum, i) => f.run(v128.store(i32.of(16 * i), sum))); // so that the engine cannot skip the work
  });
  module.function("nothing", { rounds: "i32" }, () => {});
  return module.build();
}

export async function measureCpuAdapter(budgetMs: number): Promise<AdapterSpeed> {
  const { memory } = new CpuMemory();
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(peakModule()), { host: { memory } });
  const { multiplyAdds, nothing } = exports as Record<"multiplyAdds" | "nothing", (rounds: number) => void>;
  const from = new Uint8Array(copiedBytes).fill(1);
  const to = new Uint8Array(copiedBytes).fill(2); // touched, so that its pages exist
  const repeat = (what: () => void) => (times: number) => {
    for (let i = 0; i < times; i++) what();
    return Promise.resolve();
  };
  return await measureAdapterSpeed({
    multiplyAdds: { units: 2 * lanes * chains * unrolled * rounds, run: repeat(() => multiplyAdds(rounds)) },
    copy: { units: 2 * copiedBytes, run: repeat(() => to.set(from)) },
    upload: { units: uploadedBytes, run: repeat(() => to.set(from.subarray(0, uploadedBytes))) },
    readBack: { units: uploadedBytes, run: repeat(() => from.set(to.subarray(0, uploadedBytes))) },
    dispatches: { units: 1, run: repeat(() => nothing(0)) },
    roundTrips: { units: 1, run: repeat(() => nothing(0)) },
  }, budgetMs);
}
