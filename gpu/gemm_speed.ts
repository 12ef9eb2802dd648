/**
 * How fast a device multiplies matrices with the kernel that stages use: the bulk of a miner's work.
 *
 * Owns: the clock and the batches, which grow until one takes a good part of the budget, so that a device's wait for its queue
 * barely counts; the best batch is the result.
 */

import process from "node:process";

export interface GemmSpeed {
  readonly flopsPerSecond: number; // a multiply-add counted as two
  readonly width: number; // of the square matrices
  readonly measuredMs: number; // duration of the best batch
  readonly flopsPerCpuSecond: number; // of that batch: user and system time of this process
}

const batchesInBudget = 4;

/** `run` does so many products of that width, and returns when they are done. */
export async function measureProducts(
  run: (products: number) => Promise<void>,
  { width, budgetMs }: { width: number; budgetMs: number },
): Promise<GemmSpeed> {
  const endMs = performance.now() + budgetMs;
  const wantedMs = budgetMs / batchesInBudget;
  let best = { flopsPerSecond: 0, measuredMs: 0, flopsPerCpuSecond: 0 };
  for (let products = 1, lastMs = 0; best.flopsPerSecond === 0 || performance.now() + lastMs < endMs;) {
    const startMs = performance.now();
    const before = process.cpuUsage();
    await run(products);
    lastMs = performance.now() - startMs;
    const { user, system } = process.cpuUsage(before);
    const flops = products * 2 * width ** 3;
    const flopsPerSecond = 1000 * flops / lastMs;
    const flopsPerCpuSecond = 1e6 * flops / Math.max(1, user + system);
    if (flopsPerSecond > best.flopsPerSecond) best = { flopsPerSecond, measuredMs: lastMs, flopsPerCpuSecond };
    if (lastMs < wantedMs) products = Math.ceil(products * Math.min(8, wantedMs / lastMs));
  }
  return { ...best, width };
}
