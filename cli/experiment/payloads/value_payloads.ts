/**
 * What payloads of a stage are worth, by leaving each out of the merge and by cheaper estimates, on a trained model: eight
 * replicas train apart for a round, some of them send something else.
 *
 * Owns the measurement. The other stages keep the round's start, as in the hub's trials.
 */

import { present } from "../../../core/assert.ts";
import { pseudoGradient } from "../../../core/merge/outer.ts";
import { keyOf, openStream } from "../../../core/prng.ts";
import { gradientShapley } from "../../../core/score/gradient_shapley.ts";
import type { Batch } from "../../data/dataset.ts";
import { noiseLike } from "../payload_noise.ts";
import { inputsOf, lossOn, microbatchesOf, openPath, type Path, type PathOptions, trainStep } from "../trained_path.ts";

export const behaviours = [
  ...["honest", "honest", "honest", "honest"] as const,
  ...["half of its steps", "noise", "wrong sign", "wrong sign, tripled"] as const,
] as const;

/** Each by payload, in nats per token: by how much the merge is better with it. */
export interface PayloadValues {
  readonly leftOut: readonly number[]; // exact: the merge without it, less the merge of all
  readonly gradientAtStart: readonly number[]; // core/score/gradient_shapley.ts
  readonly gradientAtBothEnds: readonly number[];
  readonly alone: readonly number[]; // the start, less the start with it alone: the hub's trials
}

export async function valuePayloads(options: PathOptions & { heldOutSequences: number }): Promise<PayloadValues> {
  const { config, batches, heldOutSequences } = options;
  const { steps, stepsPerRound, microbatchesPerStep, sequencesPerMicrobatch } = config.train;
  const index = config.pipeline.stages >> 1;
  const path = await openPath(options);
  const replica = await openPath(options);
  try {
    for (let step = 0; step < steps; step++) {
      await trainStep(path, { ...options, step, from: step * microbatchesPerStep });
    }
    const stage = present(path[index], "the middle stage exists");
    const start = await stage.readParameters();
    const payloads: Float32Array[] = [];
    for (const [i, behaviour] of behaviours.entries()) {
      for (const [each, own] of replica.entries()) {
        await own.loadParameters(await path[each]!.readParameters());
        await own.loadOptimizer(await path[each]!.readOptimizer());
      }
      const localSteps = behaviour === "half of its steps" ? stepsPerRound >> 1 : stepsPerRound;
      for (let local = 0; local < localSteps; local++) {
        const from = (steps + i * stepsPerRound + local) * microbatchesPerStep;
        await trainStep(replica, { ...options, step: steps - 1, from });
      }
      const honest = pseudoGradient({ start, current: await replica[index]!.readParameters() });
      payloads.push(sent(honest, { behaviour, seed: config.seed }));
    }
    const sequences = Math.min(heldOutSequences, batches.heldOutWindows);
    const heldOut = microbatchesOf(batches.heldOut(sequences), sequencesPerMicrobatch * config.model.contextLength);
    return await valuesOf(path, { index, start, payloads, heldOut, signal: options.signal });
  } finally {
    for (const stage of [...path, ...replica]) await stage.close();
  }
}

function sent(
  honest: Float32Array,
  { behaviour, seed }: { behaviour: typeof behaviours[number]; seed: number },
): Float32Array {
  switch (behaviour) {
    case "honest":
    case "half of its steps":
      return honest;
    case "wrong sign":
      return honest.map((value) => -value);
    case "wrong sign, tripled":
      return honest.map((value) => -3 * value);
    case "noise":
      return noiseLike(honest, { times: 1, stream: openStream(keyOf(seed, "noise")) });
  }
}

interface ValueOptions {
  readonly index: number; // of the stage
  readonly start: Float32Array;
  readonly payloads: readonly Float32Array[];
  readonly heldOut: readonly Batch[];
  readonly signal: AbortSignal;
}

async function valuesOf(path: Path, { index, start, payloads, heldOut, signal }: ValueOptions): Promise<PayloadValues> {
  const stage = present(path[index], "the stage exists");
  const after = (merged: readonly Float32Array[]) => {
    const moved = start.slice();
    for (const payload of merged) payload.forEach((value, i) => moved[i]! -= value / merged.length);
    return moved;
  };
  const lossOf = async (parameters: Float32Array) => {
    await stage.loadParameters(parameters);
    return await lossOn(path, heldOut);
  };
  const gradientOf = async (parameters: Float32Array) => {
    await stage.loadParameters(parameters);
    return await gradientOn(path, { index, heldOut });
  };
  const ofStart = await lossOf(start);
  const ofAll = await lossOf(after(payloads));
  const leftOut: number[] = [], alone: number[] = [];
  for (const payload of payloads) {
    signal.throwIfAborted();
    leftOut.push(await lossOf(after(payloads.filter((each) => each !== payload))) - ofAll);
    alone.push(ofStart - await lossOf(after([payload])));
  }
  const gradients = [await gradientOf(start), await gradientOf(after(payloads))];
  return {
    ...{ leftOut, alone },
    gradientAtStart: gradientShapley({ gradients: gradients.slice(0, 1), payloads }),
    gradientAtBothEnds: gradientShapley({ gradients, payloads }),
  };
}

/** Of the mean loss, by the stage's parameters. */
async function gradientOn(
  path: Path,
  { index, heldOut }: { index: number; heldOut: readonly Batch[] },
): Promise<Float32Array> {
  const stage = present(path[index], "the stage exists");
  await stage.zeroGradients();
  for (const { inputs: tokens, targets } of heldOut) {
    const inputs = await inputsOf(path, { type: "tokens", tokens });
    const tail = present(path.at(-1), "a path has a tail");
    let { gradient } = await tail.turnaround(present(inputs.at(-1), "the tail has an input"), targets);
    for (let i = path.length - 2; i >= index && gradient !== null; i--) {
      gradient = await path[i]!.backward(inputs[i]!, gradient);
    }
  }
  const sum = await stage.readGradients();
  await stage.zeroGradients();
  return sum.map((value) => value / heldOut.length);
}
