/**
 * A replica's pseudo-gradient and the outer step, DiLoCo (Douillard et al. 2023, arXiv 2311.08105): the round's start
 * minus the replica's parameters, then SGD with Nesterov momentum in PyTorch's form,
 *
 *     v <- mu v + g          theta <- theta - lr (g + mu v)          g: averaged pseudo-gradient
 *
 * Each value depends only on its position, in float64, rounded once to float32, so slices may be stepped in any order.
 * mu = 0 and lr = 1 is plain averaging: theta is start - g.
 */

import { assert } from "../assert.ts";

interface PseudoGradientInput {
  readonly start: Float32Array; // of the round
  readonly current: Float32Array; // after local steps
}

export function pseudoGradient({ start, current }: PseudoGradientInput): Float32Array<ArrayBuffer> {
  assert(
    start.length === current.length,
    `Lengths must be equal, and are ${start.length} and ${current.length}`,
  );
  const difference = new Float32Array(start.length);
  for (let i = 0; i < difference.length; i++) difference[i] = start[i]! - current[i]!;
  return difference;
}

interface OuterStepInput {
  readonly parameters: Float32Array; // at the round's start
  readonly momentum: Float32Array; // zeros before the first round
  readonly average: Float32Array;
  readonly learningRate: number;
  readonly momentumFactor: number;
}

interface OuterState {
  readonly parameters: Float32Array<ArrayBuffer>;
  readonly momentum: Float32Array<ArrayBuffer>;
}

export function outerStep(input: OuterStepInput): OuterState {
  const { average, learningRate, momentumFactor } = input;
  const { length } = average;
  assert(
    input.parameters.length === length && input.momentum.length === length,
    `Lengths must be equal, and are ${input.parameters.length}, ${input.momentum.length} and ${length}`,
  );
  const parameters = new Float32Array(length);
  const momentum = new Float32Array(length);
  for (let i = 0; i < length; i++) {
    const gradient = average[i]!;
    momentum[i] = momentumFactor * input.momentum[i]! + gradient;
    const update = gradient + momentumFactor * momentum[i]!; // the rounded momentum, as the next round reads it
    parameters[i] = input.parameters[i]! - learningRate * update;
  }
  return { parameters, momentum };
}
