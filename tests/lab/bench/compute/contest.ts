/**
 * Ours and others side by side: every contender does the same task in turn, several times, and the medians count. So a
 * disturbance of the machine falls on all of them, and one that falls on a single run changes nothing.
 *
 * A contender that cannot do a task says why and is not asked for it again.
 */

import { type BenchTask, isMissing, type Missing, type Speed } from "./task.ts";

export interface Contender {
  readonly name: string;
  measure(task: BenchTask, budgetMs: number): Promise<Speed | Missing>;
}

export interface ContestOptions {
  readonly task: BenchTask;
  readonly rounds: number;
  readonly budgetMs: number; // of one run
  readonly signal: AbortSignal;
}

/** In the order of the contenders. */
export async function holdContest(
  contenders: readonly Contender[],
  { task, rounds, budgetMs, signal }: ContestOptions,
): Promise<(Speed | Missing)[]> {
  const runs = contenders.map((contender) => ({ contender, speeds: [] as Speed[], missing: null as Missing | null }));
  for (let round = 0; round < rounds; round++) {
    for (const run of runs) {
      signal.throwIfAborted();
      if (run.missing !== null) continue;
      const result = await run.contender.measure(task, budgetMs);
      if (isMissing(result)) run.missing = result;
      else run.speeds.push(result);
    }
  }
  return runs.map(({ speeds, missing }) =>
    missing ?? {
      perSecond: median(speeds.map(({ perSecond }) => perSecond)),
      perCpuSecond: median(speeds.map(({ perCpuSecond }) => perCpuSecond)),
    }
  );
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? NaN) + upper) / 2;
}
