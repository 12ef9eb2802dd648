/**
 * A run's training without its network: the stages of a pipeline train on given batches as the roles have them trained. Each
 * microbatch passes forward, turns around and passes back; the orchestrator's arithmetic makes the step's header from all stages' sums.
 */

import { assert, assertEquals } from "@std/assert";
import type { RunConfig } from "../../core/config/config.ts";
import { parameterTable } from "../../core/model/spec.ts";
import { clipFactor, learningRateAt } from "../../core/train/schedule.ts";
import type { StageCompute, StageInput } from "../../gpu/compute.ts";
import type { NamedVectors, TrainingRecord } from "./training_trace.ts";

export interface Training {
  readonly config: RunConfig;
  readonly stages: readonly StageCompute[]; // head to tail
  readonly batches: readonly (readonly (readonly number[])[])[]; // of each step, of each microbatch: (B, T + 1) token ids
}

/** Trains from the parameters that the stages hold. */
export async function train({ config, stages, batches }: Training): Promise<TrainingRecord> {
  const losses: number[] = [], norms: number[] = [], learningRates: number[] = [];
  const logits: Float32Array[] = []; // of each step that the record shows
  let gradients: NamedVectors = new Map();
  for (const [step, streams] of batches.entries()) {
    const showsLogits = step === 0 || step === batches.length - 1;
    const passes = [];
    for (const [index, stream] of streams.entries()) {
      const name = `microbatch ${step * streams.length + index}`;
      passes.push(await passMicrobatch(stages, { stream, name, showsLogits }));
    }
    if (showsLogits) logits.push(Float32Array.from(passes.flatMap((pass) => [...pass.logits])));
    losses.push(mean(passes.flatMap((pass) => [...pass.lossPerSequence])));
    if (step === 0) gradients = await vectorsOf(stages, (stage) => meanGradients(stage, streams.length));
    const squareSums = await Promise.all(stages.map((stage) => stage.gradientSquareSum()));
    const squareSum = squareSums.reduce((sum, ofStage) => sum + ofStage / streams.length ** 2, 0);
    norms.push(Math.sqrt(squareSum));
    const { clipNorm, beta1, beta2, epsilon, weightDecay } = config.train;
    const learningRate = learningRateAt({ config: config.train, step });
    learningRates.push(learningRate);
    const gradientScale = clipFactor({ squareSum, clipNorm }) / streams.length;
    const options = { learningRate, gradientScale, beta1, beta2, epsilon, weightDecay };
    await Promise.all(stages.map((stage) => stage.step(options)));
  }
  const end = await vectorsOf(stages, (stage) => stage.readParameters());
  const [firstLogits, lastLogits] = logits;
  assert(firstLogits !== undefined && lastLogits !== undefined);
  return { losses, norms, learningRates, gradients, end, firstLogits, lastLogits };
}

interface MicrobatchPass {
  readonly lossPerSequence: Float32Array; // (B)
  readonly logits: Float32Array; // (B, T, V), empty unless asked for
}

async function passMicrobatch(
  stages: readonly StageCompute[],
  { stream, name, showsLogits }: { stream: readonly number[]; name: string; showsLogits: boolean },
): Promise<MicrobatchPass> {
  const body = stages.slice(0, -1);
  const tail = stages.at(-1);
  assert(tail !== undefined, "a pipeline has a tail");
  const { tokens, targets } = splitStream(stream, tail.spec.model.contextLength);
  let input: StageInput = { type: "tokens", tokens };
  const inputs: StageInput[] = [];
  for (const stage of body) {
    inputs.push(input);
    input = { type: "wire", wire: await stage.forward(input, { name }) };
  }
  const logits = showsLogits ? await logitsOf(tail, input) : new Float32Array(0);
  let { lossPerSequence, gradient } = await tail.turnaround(input, targets);
  for (const [index, stage] of [...body.entries()].reverse()) {
    assert(gradient !== null);
    gradient = await stage.backward(inputs[index]!, gradient, { name });
  }
  assertEquals(gradient, null, "the head sends nothing back");
  return { lossPerSequence, logits };
}

/** Token ids and, one position later, the targets; both (B, T). */
function splitStream(stream: readonly number[], length: number): { tokens: Uint32Array; targets: Uint32Array } {
  const tokens: number[] = [], targets: number[] = [];
  for (let start = 0; start < stream.length; start += length + 1) {
    tokens.push(...stream.slice(start, start + length));
    targets.push(...stream.slice(start + 1, start + length + 1));
  }
  return { tokens: Uint32Array.from(tokens), targets: Uint32Array.from(targets) };
}

/** (B, T, V) */
async function logitsOf(tail: StageCompute, input: StageInput): Promise<Float32Array> {
  const { sequences, model: { contextLength, vocabSize } } = tail.spec;
  const logits = new Float32Array(sequences * contextLength * vocabSize);
  for (let position = 0; position < contextLength; position++) {
    const row = await tail.logitsAt(input, position); // (B, V)
    for (let b = 0; b < sequences; b++) {
      const ofSequence = row.subarray(b * vocabSize, (b + 1) * vocabSize);
      logits.set(ofSequence, (b * contextLength + position) * vocabSize);
    }
  }
  return logits;
}

async function meanGradients(stage: StageCompute, microbatches: number): Promise<Float32Array> {
  return (await stage.readGradients()).map((sum) => sum / microbatches);
}

/** Each stage's flat vector, by tensor. */
async function vectorsOf(
  stages: readonly StageCompute[],
  read: (stage: StageCompute) => Promise<Float32Array>,
): Promise<NamedVectors> {
  const named = new Map<string, Float32Array>();
  for (const stage of stages) {
    const all = await read(stage);
    for (const { name, offset, size } of parameterTable(stage.spec).tensors) {
      named.set(name, all.subarray(offset, offset + size));
    }
  }
  return named;
}

const mean = (values: readonly number[]) => values.reduce((a, b) => a + b, 0) / values.length;
