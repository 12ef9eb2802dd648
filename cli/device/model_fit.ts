/**
 * Whether an adapter can hold the stages of a model, and a change that fits. WebGPU does not reveal a GPU's memory; a
 * software adapter has the machine's.
 */

import { present } from "../../core/assert.ts";
import type { RunConfig } from "../../core/config/config.ts";
import { optimizerOf } from "../../core/train/optimizers.ts";
import { type StageSpec, stageSpecs } from "../../core/model/spec.ts";
import { splitLayers } from "../../core/model/stages.ts";
import type { FitAdapter } from "../../gpu/stage_fit.ts";
import { planStage, type StagePlan } from "../../gpu/stage_plan.ts";
import { TooLargeError } from "../../gpu/fit/too_large.ts";
import type { ComputeWorker } from "../../gpu/worker_client.ts";
import { UserError } from "../program/errors.ts";
import { byteSize, plural } from "../terminal/text/format.ts";

export interface Memory {
  readonly memoryBytes: number; // Infinity: what the device can allocate
}

const anyMemory: Memory = { memoryBytes: Infinity };

interface OnDevice {
  readonly adapter: FitAdapter;
  readonly memory: Memory;
}

export async function planModel(
  config: RunConfig,
  { adapter, memory }: OnDevice,
): Promise<{ spec: StageSpec; plan: StagePlan }[]> {
  const plans = new Map<string, StagePlan>();
  const options = { optimizer: optimizerOf(config), ...memory };
  const stages: { spec: StageSpec; plan: StagePlan }[] = [];
  for (const spec of stageSpecs(config, splitLayers(config))) {
    const plan = plans.get(shapeOf(spec)) ?? await planStage(spec, adapter, options);
    plans.set(shapeOf(spec), plan);
    stages.push({ spec, plan });
  }
  return stages;
}

interface ModelFit {
  readonly stageBytes: number;
  readonly modelBytes: number;
  readonly problem: string | null; // "its logits take …"; null: every stage fits
}

export async function fitModel(config: RunConfig, adapter: FitAdapter, memory: Memory = anyMemory): Promise<ModelFit> {
  const plans = (await planModel(config, { adapter, memory })).map(({ plan }) => plan);
  const misfit = plans.find(({ fits }) => !fits) ?? null;
  return {
    stageBytes: Math.max(...plans.map(({ bytes }) => bytes)),
    modelBytes: plans.reduce((sum, { bytes }) => sum + bytes, 0),
    problem: misfit === null ? null : misfitText(misfit, memory),
  };
}

/** Stages of one shape need the same memory. */
const shapeOf = ({ wireIn, layerCount, wireOut }: StageSpec) => `${wireIn !== null} ${layerCount} ${wireOut !== null}`;

function misfitText({ bytes, problem }: StagePlan, { memoryBytes }: Memory): string {
  return problem === null
    ? `a stage takes ${byteSize(bytes)}, more than ${byteSize(memoryBytes)}`
    : problemText(problem);
}

export function problemText(error: Error): string {
  if (!(error instanceof TooLargeError)) return error.message;
  return `its ${error.label} take ${byteSize(error.bytes)}, more than the adapter's ${byteSize(error.limitBytes)}`;
}

export async function fitAdapterOf(worker: ComputeWorker): Promise<FitAdapter> {
  const { device, isSoftware } = worker.adapter;
  if (device === "cpu") return device;
  const facts = present(await worker.inspect(), "an adapter has limits");
  return { limits: facts.limits, isSoftware };
}

/** `memoryBytes`: this machine's free memory. */
export async function mustFit(
  config: RunConfig,
  { worker, memoryBytes, memory = anyMemory }: {
    worker: ComputeWorker;
    memoryBytes: () => number;
    memory?: Memory;
  },
): Promise<void> {
  const adapter = await fitAdapterOf(worker);
  const { name, isSoftware } = worker.adapter;
  const { problem, modelBytes } = await fitModel(config, adapter, memory);
  if (problem !== null) {
    const remedies = await remediesFor(config, { adapter, memory });
    throw new UserError(
      `Cannot train size ${config.size} here: a stage does not fit the adapter (${name}): ${problem}`,
      {
        next: remedies.length === 0
          ? "Choose a smaller model with --size, or a device with more memory"
          : `Start it again with ${remedies.join(", or with ")}`,
      },
    );
  }
  const { replicas, validators } = config.swarm;
  const bytes = modelBytes * (replicas + validators);
  const available = isSoftware ? memoryBytes() : Infinity;
  if (bytes <= available) return;
  const nodes = `${plural(replicas * config.pipeline.stages, "miner")} and ${plural(validators, "validator")}`;
  throw new UserError(
    `Cannot train size ${config.size} here: ${nodes} do not fit this machine's memory: ` +
      `they take ${byteSize(bytes)}, and ${byteSize(available)} are available`,
    { next: "Start it again with a smaller --size, or with fewer --replicas" },
  );
}

/** As typed; they leave the model as it is: smaller tasks, more stages. */
export async function remediesFor(config: RunConfig, { adapter, memory }: OnDevice): Promise<string[]> {
  const isRight = async (changed: RunConfig) => (await fitModel(changed, adapter, memory)).problem === null;
  const remedies: string[] = [];
  const { layers } = config.model;
  for (let sequences = config.train.sequencesPerMicrobatch >> 1; sequences >= 1; sequences >>= 1) {
    const train = { ...config.train, sequencesPerMicrobatch: sequences };
    if (!await isRight({ ...config, train })) continue;
    remedies.push(`--set train.sequencesPerMicrobatch=${sequences}`);
    break;
  }
  for (let stages = config.pipeline.stages + 1; stages <= layers; stages++) {
    if (!await isRight({ ...config, pipeline: { ...config.pipeline, stages } })) continue;
    remedies.push(`--stages ${stages}`);
    break;
  }
  return remedies;
}
