/**
 * A stage under test beside the oracle, and what the parts of the compute suite do with both.
 */

import { assert, assertRejects } from "@std/assert";
import { parameterTable, type StageSpec } from "../../core/model/spec.ts";
import { type OptimizerState, stateLength } from "../../core/train/optimizer.ts";
import type { OptimizerName } from "../../core/config/optimizer_names.ts";
import { optimizers } from "../../core/train/optimizers.ts";
import type { StageCompute, StepOptions } from "../../gpu/compute.ts";
import { type Microbatch, suiteParameters } from "./compute_world.ts";

export interface Pair {
  readonly spec: StageSpec;
  readonly optimizer: OptimizerName;
  readonly stage: StageCompute;
  readonly oracle: StageCompute;
}

export type Check = (pair: Pair) => Promise<void>;

/** Decay large enough to see where it ends, gradient scaled as a clipped mean of four microbatches would be. */
export const stepOptions: StepOptions = {
  learningRate: 1e-2,
  gradientScale: 0.2,
  beta1: 0.9,
  beta2: 0.95,
  epsilon: 1e-8,
  weightDecay: 0.5,
};

/** A state of the pair's optimizer, each vector made by its name and length. */
export function stateOf(
  { spec, optimizer }: Pair,
  { steps, make }: { steps: number; make: (name: string, length: number) => Float32Array },
): OptimizerState {
  const vectors = optimizers[optimizer].stateVectors(parameterTable(spec));
  return { vectors: Object.fromEntries(vectors.map((each) => [each.name, make(each.name, stateLength(each))])), steps };
}

export async function reset(pair: Pair): Promise<void> {
  for (const one of [pair.stage, pair.oracle]) {
    await one.loadParameters(suiteParameters(pair.spec));
    await one.loadOptimizer(stateOf(pair, { steps: 0, make: (_, length) => new Float32Array(length) }));
  }
}

/** Accumulates the gradients of one microbatch; what goes back on the incoming wire, null at the head. */
export async function accumulate(
  stage: StageCompute,
  { input, targets, gradient }: Microbatch,
): Promise<Uint8Array | null> {
  if (gradient !== null) return await stage.backward(input, gradient);
  return (await stage.turnaround(input, targets)).gradient;
}

/** The rejection names the expected and the actual value. */
export async function assertRefused(
  call: () => Promise<unknown>,
  ...parts: readonly (string | number)[]
): Promise<void> {
  const error = await assertRejects(call, Error);
  for (const part of parts) {
    assert(error.message.includes(String(part)), `'${error.message}' does not name ${part}`);
  }
}
