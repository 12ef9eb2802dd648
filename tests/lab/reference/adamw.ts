/**
 * AdamW with decoupled weight decay on the first `decayLength` values (the matrices) and bias correction by step count.
 *
 * State at rest is float32: parameters and moments are rounded after the update, so that reading and loading them again
 * changes nothing and a miner that joins continues with the same bits as its peers.
 */

import type { StepOptions } from "../../../gpu/compute.ts";

export interface AdamwState {
  readonly parameters: Float64Array; // float32 values
  readonly first: Float64Array; // float32 values
  readonly second: Float64Array; // float32 values
  readonly decayLength: number;
  steps: number; // applied so far
}

/** One step on the accumulated gradient; updates `state` in place. */
export function adamw(state: AdamwState, gradients: Float64Array, options: StepOptions): void {
  const { parameters, first, second, decayLength } = state;
  const { learningRate, gradientScale, beta1, beta2, epsilon, weightDecay } = options;
  state.steps += 1;
  const correction1 = 1 - beta1 ** state.steps;
  const correction2 = 1 - beta2 ** state.steps;
  for (let i = 0; i < parameters.length; i++) {
    const g = gradients[i]! * gradientScale;
    first[i] = Math.fround(beta1 * first[i]! + (1 - beta1) * g);
    second[i] = Math.fround(beta2 * second[i]! + (1 - beta2) * g * g);
    const direction = (first[i]! / correction1) / (Math.sqrt(second[i]! / correction2) + epsilon);
    const decay = i < decayLength ? weightDecay * parameters[i]! : 0;
    parameters[i] = Math.fround(parameters[i]! - learningRate * (direction + decay));
  }
}
