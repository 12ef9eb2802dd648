/**
 * `lab sim --seeds N`: many seeds side by side, a thread for each core. Every failure prints the line that replays it; the last line
 * counts. Out of scope: one seed, and making a failure smaller (run_sim.ts).
 */

import type { CommandContext } from "../../../cli/terminal/command.ts";
import { openProgress } from "../../../cli/terminal/output/progress.ts";
import { replayLine } from "./replay_line.ts";
import type { SeedEnd } from "./seed_worker.ts";
import type { SimOptions } from "./simulate.ts";

export async function runSeeds(context: CommandContext, asked: SimOptions, count: number): Promise<number> {
  const { output } = context;
  const signal = context.interruption();
  const seeds = Array.from({ length: count }, (_, i) => asked.seed + i).values();
  const progress = openProgress(output, "simulating", "seeds");
  const failures: { seed: number; detail: string; replay: string }[] = [];
  let passed = 0;
  const onEnd = ({ seed, failure }: SeedEnd) => {
    if (failure === null) passed += 1;
    else {
      const replay = replayLine({ ...asked, seed, faults: failure.faults });
      failures.push({ seed, detail: failure.detail, replay });
      output.log.error(`Seed ${seed} broke a rule: ${failure.detail}`);
      output.log.error(`Replay: ${replay}`);
      output.log.debug(failure.stack);
    }
    progress.at(passed + failures.length, count);
  };
  const threads = Math.min(count, navigator.hardwareConcurrency);
  const workers = Array.from(
    { length: threads },
    () => new Worker(new URL("./seed_worker.ts", import.meta.url), { type: "module" }),
  );
  try {
    await Promise.all(workers.map((worker) => simulateOn(worker, { asked, seeds, onEnd, signal })));
  } finally {
    for (const worker of workers) worker.terminate();
    progress.close();
  }
  const summary = { seeds: count, passed, failed: failures.length, failures };
  output.answer(summary, `${passed} passed, ${failures.length} failed`);
  return failures.length === 0 ? 0 : 1;
}

interface Share {
  readonly asked: SimOptions;
  readonly seeds: Iterator<number>;
  readonly onEnd: (end: SeedEnd) => void;
  readonly signal: AbortSignal;
}

/** Takes one seed after another until there is none, or rejects with the signal's reason. */
function simulateOn(worker: Worker, { asked, seeds, onEnd, signal }: Share): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const next = () => {
    const { done, value: seed } = seeds.next();
    if (done === true) resolve();
    else worker.postMessage({ ...asked, seed } satisfies SimOptions);
  };
  worker.onmessage = ({ data }: MessageEvent<SeedEnd>) => {
    onEnd(data);
    next();
  };
  worker.onerror = (event) => {
    event.preventDefault();
    reject(new Error(event.message));
  };
  signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  if (signal.aborted) reject(signal.reason);
  next();
  return promise;
}
