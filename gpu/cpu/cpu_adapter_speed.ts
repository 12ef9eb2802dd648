/**
 * What one thread of the processor can do at most (../speed/adapter_speed.ts): multiply-adds in 128-bit registers, without the
 * fused ones that exact results exclude, and copies in memory.
 *
 * A dispatch is a call from JavaScript into a kernel. Nothing is waited for: work is done when a call returns.
 */

import { type AdapterSpeed, measureAdapterSpeed } from "../speed/adapter_speed.ts";
import { CpuMemory } from "./layout/memory.ts";
import { f32, f32x4, i32, v128 } from "./wasm/expressions.ts";
import { ModuleBuilder } from "./wasm/module_builder.ts";

const chains = 12; // independent sums: with the factor and the addend they fill most of the sixteen registers
const unrolled = 4;
const rounds = 4096;
const lanes = 4;
const copiedBytes = 64 << 20; // beyond the caches of a core
const uploadedBytes = 16 << 20; // a wire's size

/** Each sum becomes sum * factor + addend, which stays finite. */
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
    sums.forEach((sum, i) => f.run(v128.store(i32.of(16 * i), sum))); // otherwise nothing would have to be computed
  });
  module.function("nothing", { rounds: "i32" }, () => {});
  return module.build();
}

export async function measureCpuAdapter(budgetMs: number): Promise<AdapterSpeed> {
  const { memory } = new CpuMemory();
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(peakModule()), { host: { memory } });
  const { multiplyAdds, nothing } = exports as Record<"multiplyAdds" | "nothing", (rounds: number) => void>; // its own
  const from = new Uint8Array(copiedBytes).fill(1);
  const to = new Uint8Array(copiedBytes).fill(2); // touched, so that no page is missing
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
