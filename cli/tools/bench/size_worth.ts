/**
 * Which stages of each model size a device can hold, and how many tokens a second pass through one.
 *
 * Small sizes are measured on the head stage. Larger ones are estimated from their slowest stage's FLOPs at the speed
 * of the largest measured size, which is conservative: larger matrix products are rather faster.
 */

import { wireBytes } from "../../../core/codec/wire.ts";
import type { RunConfig } from "../../../core/config/config.ts";
import { resolveConfig } from "../../../core/settings/parse.ts";
import { type SizeName, sizeNames } from "../../../core/config/size.ts";
import { initialParameters } from "../../../core/model/initial.ts";
import { parameterTable, type StageSpec } from "../../../core/model/spec.ts";
import { stageWires } from "../../../core/model/stage_wires.ts";
import { stageFlopsPerToken } from "../../../core/model/stages.ts";
import { optimizerOf } from "../../../core/train/optimizers.ts";
import type { FitAdapter } from "../../../gpu/stage_fit.ts";
import type { ComputeWorker } from "../../../gpu/worker_client.ts";
import { fitModel, type Memory, planModel } from "../../device/model_fit.ts";

export interface SizeWorth {
  readonly size: SizeName;
  readonly stages: number;
  readonly holds: readonly number[];
  readonly largestBytes: number;
  /** The fewest stages above the default of which all fit. Null: none, or the default. */
  readonly fitsWithStages: number | null;
  readonly tokensPerSecond: number | null; // through its slowest stage; null: it holds none
  readonly isMeasured: boolean;
  /** A middle stage's traffic, at most. */
  readonly linkBytesPerToken: number;
}

const judgedSizes = sizeNames.filter((size) => size !== "toy");

interface Worth {
  readonly worker: ComputeWorker;
  readonly adapter: FitAdapter;
  readonly memory: Memory;
  readonly signal: AbortSignal;
}

const longestMicrobatchMs = 3000; // a larger one is estimated
const mostMeasuredBytes = 2 ** 31; // a GPU's free memory is unknown
const usedMs = 1500; // per size; at least one microbatch

/** Ascending, each yielded when it is known. */
export async function* worthOfSizes(
  { worker, adapter, memory, signal }: Worth,
  sizes: readonly SizeName[] = judgedSizes,
): AsyncGenerator<SizeWorth> {
  let flopsPerSecond: number | null = null;
  for (const size of sizes) {
    signal.throwIfAborted();
    const config = configOf(size);
    const planned = await planModel(config, { adapter, memory });
    const fitting = planned.filter(({ plan }) => plan.fits);
    const slowest = Math.max(...fitting.map(({ spec }) => stageFlopsPerToken(spec).training));
    const head = fitting.find(({ spec, plan }) => spec.index === 0 && plan.bytes <= mostMeasuredBytes)?.spec;
    const expectedMs = head === undefined || flopsPerSecond === null ? 0 : 1000 * flopsOf(head) / flopsPerSecond;
    const isMeasured = head !== undefined && expectedMs <= longestMicrobatchMs;
    if (isMeasured) flopsPerSecond = await measureHead(worker, { spec: head, config, memory });
    const holds = fitting.map(({ spec }) => spec.index as number);
    yield {
      ...{ size, stages: planned.length, holds, isMeasured },
      largestBytes: Math.max(0, ...fitting.map(({ plan }) => plan.bytes)),
      fitsWithStages: holds.length === planned.length ? null : await leastStages(config, { adapter, memory }),
      tokensPerSecond: flopsPerSecond === null || fitting.length === 0 ? null : flopsPerSecond / slowest,
      linkBytesPerToken: Math.max(...planned.map(({ spec }) => linkBytesOf(spec))),
    };
  }
}

function configOf(size: SizeName): RunConfig {
  const resolved = resolveConfig({ size });
  if (!resolved.ok) throw new Error(`size ${size} must be valid by itself`);
  return resolved.config;
}

const tokensOf = ({ sequences, model }: StageSpec) => sequences * model.contextLength;
const flopsOf = (spec: StageSpec) => stageFlopsPerToken(spec).training * tokensOf(spec);

function linkBytesOf(spec: StageSpec): number {
  const { input, inputGradient, output, outputGradient } = stageWires(spec);
  const bytes = [input, inputGradient, output, outputGradient].map((wire) => wire === null ? 0 : wireBytes(wire));
  return bytes.reduce((sum, each) => sum + each, 0) / tokensOf(spec);
}

async function measureHead(
  worker: ComputeWorker,
  { spec, config, memory }: { spec: StageSpec; config: RunConfig; memory: Memory },
): Promise<number> {
  const memoryBytes = memory.memoryBytes === Infinity ? undefined : memory.memoryBytes;
  const stage = await worker.openStage(spec, { optimizer: optimizerOf(config), memoryBytes });
  await stage.loadParameters(initialParameters(parameterTable(spec), 1));
  const tokens = Uint32Array.from({ length: tokensOf(spec) }, (_, i) => (i * 7) % spec.model.vocabSize);
  const input = { type: "tokens", tokens } as const;
  const { outputGradient } = stageWires(spec);
  const gradient = outputGradient === null ? null : new Uint8Array(wireBytes(outputGradient));
  const microbatch = async () => {
    if (gradient === null) return await stage.turnaround(input, tokens);
    await stage.forward(input);
    return await stage.backward(input, gradient);
  };
  await microbatch(); // touches pages and caches first
  const startMs = performance.now();
  let times = 0;
  do {
    await microbatch();
    times += 1;
  } while (performance.now() - startMs < usedMs);
  const seconds = (performance.now() - startMs) / 1000;
  stage.close();
  return times * flopsOf(spec) / seconds;
}

/** By halving: with more stages each takes less. */
async function leastStages(
  config: RunConfig,
  { adapter, memory }: Pick<Worth, "adapter" | "memory">,
): Promise<number | null> {
  const fitsWith = async (stages: number) => {
    const split = { ...config, pipeline: { ...config.pipeline, stages } };
    return (await fitModel(split, adapter, memory)).problem === null;
  };
  let [below, enough] = [config.pipeline.stages, config.model.layers];
  if (below >= enough || !await fitsWith(enough)) return null;
  while (enough - below > 1) {
    const middle = (below + enough) >> 1;
    if (await fitsWith(middle)) enough = middle;
    else below = middle;
  }
  return enough;
}
