/**
 * One process that holds a whole model, stage by stage, and trains it: what experiments measure on.
 */

import { present } from "../../../core/assert.ts";
import type { RunConfig } from "../../../core/config/config.ts";
import { microbatchId } from "../../../core/ids.ts";
import { initialParameters } from "../../../core/model/initial.ts";
import { parameterTable, stageSpecs } from "../../../core/model/spec.ts";
import { splitLayers } from "../../../core/model/stages.ts";
import { optimizerOf } from "../../../core/train/optimizers.ts";
import { clipFactor, learningRateAt } from "../../../core/train/schedule.ts";
import type { StageCompute, StageInput } from "../../../gpu/compute.ts";
import type { Batch, BatchSource } from "../../../cli/model/data/dataset.ts";
import type { ComputeHost } from "../../../cli/device/compute_host.ts";

export interface PathOptions {
  readonly config: RunConfig;
  readonly batches: BatchSource;
  readonly device: ComputeHost;
  readonly signal: AbortSignal;
}

/** One path of stages that train together. */
export type Path = readonly StageCompute[];

/** Untrained. */
export async function openPath({ config, device }: PathOptions): Promise<StageCompute[]> {
  const path: StageCompute[] = [];
  for (const spec of stageSpecs(config, splitLayers(config))) {
    const stage = await device.openStage(spec, { optimizer: optimizerOf(config) });
    await stage.loadParameters(initialParameters(parameterTable(spec), config.seed));
    path.push(stage);
  }
  return path;
}

/** One optimizer step over microbatches from `from` on. */
export async function trainStep(
  path: Path,
  { config: { train }, batches, step, from, signal }: PathOptions & { step: number; from: number },
): Promise<void> {
  signal.throwIfAborted();
  const tail = present(path.at(-1), "a path has a tail");
  for (let i = 0; i < train.microbatchesPerStep; i++) {
    const { inputs: tokens, targets } = batches.tokensOf(microbatchId(from + i));
    const inputs = await inputsOf(path, { type: "tokens", tokens });
    let { gradient } = await tail.turnaround(present(inputs.at(-1), "the tail has an input"), targets);
    for (let stage = path.length - 2; stage >= 0 && gradient !== null; stage--) {
      gradient = await path[stage]!.backward(inputs[stage]!, gradient);
    }
  }
  let squareSum = 0;
  for (const stage of path) squareSum += await stage.gradientSquareSum();
  squareSum /= train.microbatchesPerStep ** 2;
  const { beta1, beta2, epsilon, weightDecay, clipNorm } = train;
  const gradientScale = clipFactor({ squareSum, clipNorm }) / train.microbatchesPerStep;
  const learningRate = learningRateAt({ config: train, step });
  for (const stage of path) await stage.step({ learningRate, gradientScale, weightDecay, beta1, beta2, epsilon });
}

/** The input of every stage. */
export async function inputsOf(path: Path, input: StageInput): Promise<StageInput[]> {
  const inputs = [input];
  for (const stage of path.slice(0, -1)) {
    inputs.push({ type: "wire", wire: await stage.forward(present(inputs.at(-1), "every stage has an input")) });
  }
  return inputs;
}

/** In microbatches of as many tokens as the stages take. */
export function microbatchesOf({ inputs, targets }: Batch, tokens: number): Batch[] {
  return Array.from({ length: Math.floor(inputs.length / tokens) }, (_, i) => ({
    inputs: inputs.slice(i * tokens, (i + 1) * tokens),
    targets: targets.slice(i * tokens, (i + 1) * tokens),
  }));
}

/** Mean nats per token. */
export async function lossOn(path: Path, heldOut: readonly Batch[]): Promise<number> {
  let sum = 0, count = 0;
  for (const { inputs: tokens, targets } of heldOut) {
    const inputs = await inputsOf(path, { type: "tokens", tokens });
    const tail = present(path.at(-1), "a path has a tail");
    for (const loss of await tail.evaluate(present(inputs.at(-1), "the tail has an input"), targets)) {
      sum += loss;
      count += 1;
    }
  }
  return sum / count;
}
