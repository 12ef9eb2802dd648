/**
 * What miners do to a loss, measured on a real model: trains one on the processor, lets two replicas of every stage train apart
 * for a round, and computes microbatches on honest paths and on paths with one cheating miner.
 *
 * Owns: the measurement. Out of scope: how many samples tell miners apart (simulate.ts).
 */

import { present } from "../../../core/assert.ts";
import { decodeWire, encodeWire, type Wire } from "../../../core/codec/wire.ts";
import type { RunConfig } from "../../../core/config/config.ts";
import { microbatchId } from "../../../core/ids.ts";
import { initialParameters } from "../../../core/model/initial.ts";
import { parameterTable, stageSpecs } from "../../../core/model/spec.ts";
import { splitLayers } from "../../../core/model/stages.ts";
import { runWire } from "../../../core/model/stage_wires.ts";
import { optimizerOf } from "../../../core/train/optimizers.ts";
import { clipFactor, learningRateAt } from "../../../core/train/schedule.ts";
import type { StageCompute, StageInput } from "../../../gpu/compute.ts";
import type { Batch, BatchSource } from "../../data/dataset.ts";
import type { ComputeHost } from "../../roles/compute_host.ts";
import { type Attack, attacks } from "./attacks.ts";

export interface MeasureOptions {
  readonly config: RunConfig; // with codec none
  readonly batches: BatchSource;
  readonly device: ComputeHost;
  readonly signal: AbortSignal;
}

/** Of microbatches; losses in mean nats per token. */
export interface Damage {
  readonly losses: readonly number[]; // on an honest path
  readonly replicaDeviation: number; // of one stage's replica against the other, on the same microbatch
  readonly pathDeviation: number; // of one whole path against the other
  readonly attacks: readonly { readonly name: string; readonly damages: readonly number[] }[]; // loss with it - loss without
}

export const measuredMicrobatches = 96;

/** One path of stages that train together. */
type Path = readonly StageCompute[];

export async function measureDamage(options: MeasureOptions): Promise<Damage> {
  const { config, batches } = options;
  const { steps, stepsPerRound, microbatchesPerStep } = config.train;
  const first = await openPath(options);
  const second = await openPath(options);
  try {
    for (let step = 0; step < steps; step++) {
      await trainStep(first, { ...options, step, from: step * microbatchesPerStep });
    }
    for (const [stage, replica] of second.entries()) {
      await replica.loadParameters(await first[stage]!.readParameters());
      await replica.loadOptimizer(await first[stage]!.readOptimizer());
    }
    let from = steps * microbatchesPerStep;
    for (let local = 0; local < stepsPerRound; local++) {
      for (const path of [first, second]) {
        await trainStep(path, { ...options, step: steps - 1, from });
        from += microbatchesPerStep;
      }
    }
    const measured = Array.from({ length: measuredMicrobatches }, (_, i) => batches.tokensOf(microbatchId(from + i)));
    return await measure({ first, second, measured, config });
  } finally {
    for (const stage of [...first, ...second]) stage.close();
  }
}

async function openPath({ config, device }: MeasureOptions): Promise<StageCompute[]> {
  const path: StageCompute[] = [];
  for (const spec of stageSpecs(config, splitLayers(config))) {
    const stage = await device.openStage(spec, { optimizer: optimizerOf(config) });
    await stage.loadParameters(initialParameters(parameterTable(spec), config.seed));
    path.push(stage);
  }
  return path;
}

/** One optimizer step over microbatches from `from` on. */
async function trainStep(
  path: Path,
  { config: { train }, batches, step, from, signal }: MeasureOptions & { step: number; from: number },
): Promise<void> {
  signal.throwIfAborted();
  const tail = present(path.at(-1), "a path has a tail");
  for (let i = 0; i < train.microbatchesPerStep; i++) {
    const { inputs: tokens, targets } = batches.tokensOf(microbatchId(from + i));
    const inputs = await forward(path, { type: "tokens", tokens });
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
async function forward(path: Path, input: StageInput): Promise<StageInput[]> {
  const inputs = [input];
  for (const stage of path.slice(0, -1)) {
    inputs.push({ type: "wire", wire: await stage.forward(present(inputs.at(-1), "every stage has an input")) });
  }
  return inputs;
}

async function measure(
  { first, second, measured, config }: { first: Path; second: Path; measured: readonly Batch[]; config: RunConfig },
): Promise<Damage> {
  const cheat = Math.max(1, first.length - 2); // a stage with a wire on both sides
  const wire = runWire(config, "forward");
  const losses: number[] = [], byReplica: number[] = [], byPath: number[] = [];
  const damages = new Map(attacks.map(({ name }) => [name, [] as number[]]));
  for (const batch of measured) {
    const honest = await lossOn(first, batch);
    losses.push(honest);
    byPath.push(await lossOn(second, batch) - honest);
    byReplica.push(await lossOn(first.with(cheat, second[cheat]!), batch) - honest);
    for (const attack of attacks) {
      const loss = await lossOn(first, batch, { stage: cheat, attack, wire });
      present(damages.get(attack.name), "every attack has its damages").push(loss - honest);
    }
  }
  return {
    losses,
    replicaDeviation: deviationOf(byReplica),
    pathDeviation: deviationOf(byPath),
    attacks: [...damages].map(([name, ofAttack]) => ({ name, damages: ofAttack })),
  };
}

interface Cheat {
  readonly stage: number;
  readonly attack: Attack;
  readonly wire: Wire;
}

async function lossOn(path: Path, { inputs, targets }: Batch, cheat: Cheat | null = null): Promise<number> {
  let input: StageInput = { type: "tokens", tokens: inputs };
  for (const [index, stage] of path.slice(0, -1).entries()) {
    const output = await stage.forward(input);
    input = { type: "wire", wire: cheat?.stage === index ? forged(cheat, input, output) : output };
  }
  const losses = await present(path.at(-1), "a path has a tail").evaluate(input, targets);
  return losses.reduce((sum, loss) => sum + loss, 0) / losses.length;
}

function forged({ attack, wire }: Cheat, input: StageInput, output: Uint8Array): Uint8Array {
  if (input.type !== "wire") return output;
  return encodeWire(wire, attack.forge({ input: decodeWire(wire, input.wire), output: decodeWire(wire, output) }));
}

export const meanOf = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

/** Of a sample. */
export function deviationOf(values: readonly number[]): number {
  const middle = meanOf(values);
  return Math.sqrt(values.reduce((sum, value) => sum + (value - middle) ** 2, 0) / (values.length - 1));
}
