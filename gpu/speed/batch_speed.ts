/**
 * The speed of something that repeats, from the best batch. Batches at least double until one takes a good part of the
 * budget, so that waiting for the queue barely counts.
 */

import process from "node:process";

export interface BatchSpeed {
  readonly perSecond: number; // units
  readonly perCpuSecond: number; // units; user and system time of this process
  readonly measuredMs: number; // of the best batch
}

export interface Repeated {
  readonly units: number;
  run(times: number): Promise<void>;
}

const batchesInBudget = 4;

export async function measureBatches(repeated: Repeated, budgetMs: number): Promise<BatchSpeed> {
  const { units } = repeated;
  const endMs = performance.now() + budgetMs;
  const wantedMs = budgetMs / batchesInBudget;
  let best: BatchSpeed = { perSecond: 0, perCpuSecond: 0, measuredMs: 0 };
  for (let times = 1, lastMs = 0; best.perSecond === 0 || performance.now() + lastMs < endMs;) {
    const startMs = performance.now();
    const before = process.cpuUsage();
    await repeated.run(times);
    lastMs = performance.now() - startMs;
    const { user, system } = process.cpuUsage(before);
    const perSecond = 1000 * times * units / lastMs;
    const perCpuSecond = 1e6 * times * units / Math.max(1, user + system);
    const isFastest = perSecond > best.perSecond;
    best = {
      ...(isFastest ? { perSecond, measuredMs: lastMs } : best),
      perCpuSecond: Math.max(best.perCpuSecond, perCpuSecond),
    };
    if (lastMs < wantedMs) times = Math.ceil(times * Math.max(2, Math.min(8, wantedMs / lastMs)));
  }
  return best;
}
