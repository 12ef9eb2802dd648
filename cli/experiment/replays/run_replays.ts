/**
 * `iota experiment replays`: whether a task has the same bits each time and on each device (E19), which is what audits stand on.
 *
 * Every task is computed many times on the processor with one thread, with several, and on a software driver and a GPU where there
 * are any. Nothing is trained: inputs and parameters are random (gpu/trace/task_inputs.ts).
 */

import { plural } from "../../screen/format.ts";
import { type StageSpec, stageSpecs } from "../../../core/model/spec.ts";
import { splitLayers } from "../../../core/model/stages.ts";
import { ComputeError, openComputeWorker } from "../../../gpu/worker_client.ts";
import type { DeviceChoice } from "../../../gpu/worker_protocol.ts";
import type { CommandContext } from "../../command.ts";
import { alignedRows } from "../../lab/aligned_rows.ts";
import { configOf } from "../../lab/lab_settings.ts";
import { givenRun } from "../../options/run_options.ts";
import { endWithRows } from "../told_rows.ts";
import { areEqual, computeTask, flips, openTask, type TaskResult } from "./replay_tasks.ts";

const inputs = 10; // different ones for each stage
const repeats = 10; // of each

export interface ReplayRow {
  readonly device: string;
  readonly skipped: string | null; // why; all numbers are zero then
  readonly replays: number; // of tasks
  readonly repeated: number; // those with the bits of the first time, as a share
  readonly values: number; // on wires
  readonly flipped: number; // share of them that differ from the processor's with one thread
}

interface Runtime {
  readonly name: string;
  readonly device: DeviceChoice;
  readonly threads?: number;
}

const runtimes: readonly Runtime[] = [
  { name: "processor, 1 thread", device: "cpu" },
  { name: "processor, 2 threads", device: "cpu", threads: 2 },
  { name: "processor, 3 threads", device: "cpu", threads: 3 },
  { name: "software driver", device: "software" },
  { name: "GPU", device: "gpu" },
];

export async function runReplays(context: CommandContext): Promise<number> {
  const { output } = context;
  const { input } = await givenRun(context);
  const config = configOf({ common: { "pipeline.stages": 3 }, input, fixed: {} });
  const specs = stageSpecs(config, splitLayers(config));
  output.line(
    `${plural(repeats, "time")} ${plural(inputs, "task")} of each of ${
      plural(specs.length, "stage")
    } of ${config.size}, codec ${config.pipeline.codec}`,
  );
  const rows: ReplayRow[] = [];
  let processor: TaskResult[] | null = null;
  const replayAll = async () => {
    for (const runtime of runtimes) {
      const { row, firsts } = await rowOf(runtime, { specs, processor, signal: context.interruption() });
      processor ??= firsts;
      rows.push(row);
      output.event({ type: "row", ...row });
    }
  };
  const facts = { codec: config.pipeline.codec };
  return await endWithRows(context, replayAll, () => ({ rows, table: tableOf(rows), facts }));
}

export async function rowOf(
  { name, device, threads = 1 }: Runtime,
  { specs, processor, signal }: {
    specs: readonly StageSpec[];
    processor: readonly TaskResult[] | null; // first results of the processor's one thread; null: this is it
    signal: AbortSignal;
  },
): Promise<{ row: ReplayRow; firsts: TaskResult[] }> {
  const none = { device: name, replays: 0, repeated: 0, values: 0, flipped: 0 };
  const firsts: TaskResult[] = [];
  let worker;
  try {
    worker = await openComputeWorker({ device, threads });
  } catch (error) {
    if (!(error instanceof ComputeError)) throw error;
    return { row: { ...none, skipped: error.message }, firsts };
  }
  let [replays, repeated, values, flipped] = [0, 0, 0, 0];
  for (const spec of specs) {
    const stage = await openTask(spec, (own) => worker.openStage(own, { optimizer: null }));
    const own: TaskResult[] = [];
    for (let i = 0; i < inputs; i++) own.push(await computeTask(stage, i));
    for (let repeat = 0; repeat < repeats; repeat++) {
      signal.throwIfAborted();
      for (let i = 0; i < inputs; i++) repeated += Number(areEqual(await computeTask(stage, i), own[i]!));
      replays += inputs;
    }
    for (const [i, first] of own.entries()) {
      const found = flips(spec, first, processor?.[firsts.length + i] ?? first);
      values += found.values;
      flipped += found.flipped;
    }
    firsts.push(...own);
    stage.close();
  }
  await worker.finish();
  return {
    row: { device: name, skipped: null, replays, repeated: repeated / replays, values, flipped: flipped / values },
    firsts,
  };
}

function tableOf(rows: readonly ReplayRow[]): string[] {
  const percent = (share: number) => `${Number((100 * share).toPrecision(3))} %`;
  const cells = rows.map(({ device, skipped, replays, repeated, values, flipped }) =>
    skipped === null
      ? [device, `${replays}`, percent(repeated), `${values}`, percent(flipped)]
      : [device, "–", "–", "–", "not here"]
  );
  return alignedRows([["", "replays", "same bits", "values on wires", "other than the processor's"], ...cells]);
}
