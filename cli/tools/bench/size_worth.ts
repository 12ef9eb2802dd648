/**
 * What a device can do for a model of each size: which of its stages it can hold, and how many tokens a second pass
 * through one.
 *
 * The head stage of small sizes is measured: microbatches forward and backward, as a miner computes them. Larger ones
 * are estimated from the FLOPs of their slowest stage at the speed of the largest measured one, which is conservative:
 * larger matrix products are rather faster. Out of scope: the plan itself (gpu/stage_plan.ts).
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
  readonly stages: number; // by default
  readonly holds: readonly number[]; // those of them that fit
  readonly largestBytes: number; // of a stage that fits
  /** The least number of stages, above the default, at which all of them fit; null: none, or the default. */
  readonly fitsWithStages: number | null;
  readonly tokensPerSecond: number | null; // through its slowest stage; null: it holds none
  readonly isMeasured: boolean;
  /** Received and sent per trained token by a middle stage, at most. */
  readonly linkBytesPerToken: number;
}

export const judgedSizes = sizeNames.filter((size) => size !== "toy"); // that one is for tests

export interface Worth {
  readonly worker: ComputeWorker;
  readonly adapter: FitAdapter;
  readonly memory: Memory;
  readonly signal: AbortSignal;
}

const longestMicrobatchMs = 3000; // a larger one is estimated
const mostMeasuredBytes = 2 ** 31; // of a stage: what a GPU has free is unknown
const usedMs = 1500; // of each measured size, at least one microbatch

/** Sizes in ascending order, each yielded when it is known. */
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

/** FLOPs per second of microbatches, forward and then backward. */
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
  await microbatch(); // pages and caches are touched for the first time
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
