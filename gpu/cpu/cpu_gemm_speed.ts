/** The speed of the processor's matrix product (../gemm_speed.ts). */

import { type GemmSpeed, measureProducts } from "../gemm_speed.ts";
import { cpuKernels } from "./kernels/cpu_kernels.ts";
import { CpuMemory } from "./memory.ts";
import { CpuOps } from "./ops.ts";

const width = 256; // one product takes about a millisecond

export async function measureCpuGemm({ budgetMs }: { budgetMs: number }): Promise<GemmSpeed> {
  const memory = new CpuMemory();
  const ops = new CpuOps(memory, cpuKernels(memory.memory));
  const [input, weight, output] = ["input", "weight", "output"].map((name) => memory.storage(name, width * width));
  const values = Float32Array.from({ length: width * width }, (_, i) => (i % 251) / 251 - 0.5);
  memory.upload(input!, values);
  memory.upload(weight!, values);
  const sizes = { rows: width, inWidth: width, outWidth: width };
  const product = ops.linear(sizes, { input: input!, weight: weight!, output: output! });
  const run = (products: number) => {
    for (let i = 0; i < products; i++) product.run();
    return Promise.resolve();
  };
  return await measureProducts(run, { width, budgetMs });
}
