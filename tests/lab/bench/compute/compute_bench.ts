/**
 * What the benchmarks of kernels and steps share: the device, the other libraries, the machine's limit, the table, the order
 * in which they are opened and closed.
 *
 * Out of scope: which tasks, and the fields of the summary (gemm_bench.ts, attention_bench.ts, step_bench.ts).
 */

import { openProgress } from "../../../../cli/terminal/output/progress.ts";
import type { AdapterSpeed } from "../../../../gpu/speed/adapter_speed.ts";
import type { ComputeWorker } from "../../../../gpu/worker_client.ts";
import type { CommandContext } from "../../../../cli/terminal/command.ts";
import { deviceText, openDevice } from "../../../../cli/device/open_device.ts";
import { readTuning } from "../../../../cli/device/tuning_file.ts";
import { type Contender, holdContest } from "./contest.ts";
import { chosenLibraries, startLibraries } from "./libraries.ts";
import { type Clock, SpeedTable } from "./speed_table.ts";
import { type BenchTask, isMissing, type Missing, type Speed } from "./task.ts";

export interface LabelledTask {
  readonly label: string;
  readonly task: BenchTask;
}

export interface Figure {
  readonly ours: Speed | Missing;
  readonly peers: Readonly<Record<string, Speed>>; // of those that can do the task
  readonly missing: Readonly<Record<string, string>>; // why, of those that cannot
}

/** Everything that a table of tasks is measured with. */
export interface Arena {
  readonly worker: ComputeWorker;
  readonly limits: AdapterSpeed; // of the device
  readonly clock: Clock;
  /** In the summary of every benchmark. */
  readonly facts: {
    readonly device: string;
    readonly adapter: string;
    readonly threads: number | null; // of ours, on the processor; libraries have one
    readonly clock: Clock; // that of the table; a processor's time says nothing of a GPU
    readonly peerVersions: Readonly<Record<string, string>>;
    readonly missingPeers: Readonly<Record<string, string>>;
  };
  /** Measures the tasks in their order, and prints a row for each. */
  measure(tasks: readonly LabelledTask[], unit: TableUnit): Promise<Figure[]>;
}

export interface TableUnit {
  readonly title: string; // "GFLOP"
  readonly scale: number;
  readonly limitOf: (limits: AdapterSpeed) => Speed | null;
  readonly budgetMs: number; // of all runs of one number
  readonly ours: (worker: ComputeWorker) => Contender;
}

export const rounds = 5; // an odd number: the median is a measured one
const limitBudgetMs = 1200;

export async function inArena(context: CommandContext, use: (arena: Arena) => Promise<void>): Promise<void> {
  const { output, options } = context;
  const names = chosenLibraries(options.text("peers") ?? "all");
  const signal = context.interruption();
  const worker = await openDevice(options.text("device"), {
    threads: options.number("threads") ?? 1,
    tuned: await readTuning(context.dataFolder()),
  });
  output.line(`Computes on ${deviceText(worker)}`);
  const { device, name: adapter, isSoftware } = worker.adapter;
  const libraries = await startLibraries(names, {
    backend: device === "webgpu" ? "webgpu" : "cpu",
  });
  try {
    for (const [name, version] of Object.entries(libraries.versions)) output.line(`Beside it, ${name} ${version}`);
    for (const [name, reason] of Object.entries(libraries.missing)) output.line(`Without ${name}: it ${reason}`);
    const limits = await worker.measureAdapter(limitBudgetMs);
    const clock: Clock = isSoftware ? "perCpuSecond" : "perSecond";
    await use({
      ...{ worker, limits, clock },
      facts: {
        device,
        adapter,
        threads: worker.threads,
        clock,
        peerVersions: libraries.versions,
        missingPeers: libraries.missing,
      },
      measure: (tasks, unit) =>
        measureTable({ context, worker, limits, clock, signal, others: libraries.contenders }, { tasks, unit }),
    });
  } finally {
    await libraries.close();
    await worker.finish(); // never terminated just before the exit: see its contract
  }
}

interface Table {
  readonly context: CommandContext;
  readonly worker: ComputeWorker;
  readonly limits: AdapterSpeed | null;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly others: readonly Contender[];
}

async function measureTable(
  { context: { output }, worker, limits, clock, signal, others }: Table,
  { tasks, unit }: { tasks: readonly LabelledTask[]; unit: TableUnit },
): Promise<Figure[]> {
  const limit = limits === null ? null : unit.limitOf(limits)?.[clock] ?? null;
  const names = others.map(({ name }) => name);
  const table = new SpeedTable({ tasks: tasks.map(({ label }) => label), others: names, clock, limit, ...unit });
  output.line("");
  output.line(
    `${unit.title} per ${clock === "perSecond" ? "second" : "CPU second"}, medians of ${rounds} runs in turn`,
  );
  output.line(output.paint.dim(table.heading()));
  const figures: Figure[] = [];
  const reasons = new Map<string, string>();
  const progress = openProgress(output, "measuring", "tasks");
  for (const [done, { label, task }] of tasks.entries()) {
    progress.at(done, tasks.length, label);
    const [ours, ...results] = await holdContest([unit.ours(worker), ...others], {
      ...{ task, rounds, signal },
      budgetMs: unit.budgetMs / rounds,
    }) as [Speed | Missing, ...(Speed | Missing)[]];
    output.line(table.row({ task: label, ours, others: results }));
    const figure = figureOf(names, { ours, results });
    figures.push(figure);
    for (const [name, reason] of Object.entries(figure.missing)) reasons.set(name, reason);
    output.event({ type: "measurement", label, ...figure });
  }
  progress.close();
  for (const [name, reason] of reasons) output.line(`-: ${name} ${reason}`);
  return figures;
}

function figureOf(
  names: readonly string[],
  { ours, results }: { ours: Speed | Missing; results: readonly (Speed | Missing)[] },
): Figure {
  const peers: Record<string, Speed> = {};
  const missing: Record<string, string> = {};
  names.forEach((name, i) => {
    const result = results[i]!;
    if (isMissing(result)) missing[name] = result.missing;
    else peers[name] = result;
  });
  return { ours, peers, missing };
}

/** A speed by both clocks as fields of a summary, in units of `scale`, each name ending in its clock's. */
export function bothClocks(name: string, { speed, scale }: { speed: Speed | Missing; scale: number }) {
  const of = (clock: Clock) => isMissing(speed) ? null : speed[clock] / scale;
  return { [`${name}PerCpuSecond`]: of("perCpuSecond"), [`${name}PerSecond`]: of("perSecond") };
}

export function byName(peers: Readonly<Record<string, Speed>>, { clock, scale }: { clock: Clock; scale: number }) {
  return Object.fromEntries(Object.entries(peers).map(([name, speed]) => [name, speed[clock] / scale]));
}
