/**
 * The part of the compute suite about optimizers, for each of them: a step against the reference's, fed with the gradient that
 * the stage itself shows, and the state it keeps.
 */

import { assert, assertEquals } from "@std/assert";
import { parameterTable } from "../../core/model/spec.ts";
import type { OptimizerState } from "../../core/train/optimizer.ts";
import type { OptimizerName } from "../../core/config/optimizer_names.ts";
import { referenceUpdates } from "../lab/reference/updates.ts";
import { noise } from "../support/finite_difference.ts";
import { accumulate, assertRefused, type Check, type Pair, stateOf, stepOptions } from "./compute_pair.ts";
import { assertClose, relativeL2, suiteMicrobatch, suiteParameters, suiteVector } from "./compute_world.ts";

export const optimizerChecks: readonly [string, Check][] = [
  ["steps are the optimizer's on the stage's own gradient, decay on matrices only", stepsAgree],
  ["a step continues from the state that was loaded", stateContinues],
  ["the same steps give the same bits twice, also on a stage that took the state over", stepsRepeat],
  ["parameters and state come back as they were loaded", stateRoundTrips],
  ["vectors in parts are the vectors as a whole", partsAreTheWhole],
];

/**
 * How far a value may be from the oracle's, in learning rates, and a tensor's change, as relative L2. The Gram matrix of a
 * gradient squares its condition, so Muon's change is known to about a thousandth where the gradient lacks rank.
 */
const tolerances: Readonly<Record<OptimizerName, { value: number; change: number }>> = {
  adamw: { value: 1e-4, change: 1e-4 },
  muon: { value: 1e-2, change: 1e-3 },
};

/** One step against the formula: kernel errors of the gradient do not blur this check. */
async function stepAgrees({ spec, stage, optimizer }: Pair): Promise<void> {
  const table = parameterTable(spec);
  const { vectors, steps } = await stage.readOptimizer();
  const before = await stage.readParameters();
  const expected = {
    table,
    parameters: Float64Array.from(before),
    vectors: new Map(Object.entries(vectors).map(([name, values]) => [name, Float64Array.from(values)])),
    steps,
  };
  referenceUpdates[optimizer](expected, Float64Array.from(await stage.readGradients()), stepOptions);
  await stage.step(stepOptions);
  const after = await stage.readOptimizer();
  assertEquals(after.steps, steps + 1);
  for (const [name, values] of expected.vectors) {
    assertClose({ what: name, actual: after.vectors[name]!, expected: values }, 1e-5);
  }
  const parameters = await stage.readParameters();
  const { value, change } = tolerances[optimizer];
  expected.parameters.forEach((wanted, i) => {
    // Its own float32 rounding comes on top.
    const allowed = value * stepOptions.learningRate + 1e-6 * Math.abs(wanted);
    const difference = Math.abs(parameters[i]! - wanted);
    assert(difference <= allowed, `parameter ${i}: ${parameters[i]} where ${wanted} is expected`);
  });
  for (const { name, offset, size } of table.tensors) {
    const changes = [parameters, expected.parameters].map((all) =>
      Array.from({ length: size }, (_, i) => all[offset + i]! - before[offset + i]!)
    );
    const error = relativeL2(changes[0]!, changes[1]!);
    assert(error <= change, `the change of ${name} is ${error} off`);
  }
  assertEquals(await stage.gradientSquareSum(), 0, "a step zeroes gradients");
}

async function stepsAgree(pair: Pair): Promise<void> {
  for (let index = 0; index < 3; index++) {
    await accumulate(pair.stage, suiteMicrobatch(pair.spec, index));
    await stepAgrees(pair);
  }
}

/** Second moments are squares, and smaller. */
function suiteState(pair: Pair): OptimizerState {
  const make = (name: string, length: number) =>
    name === "secondMoments"
      ? Float32Array.from(noise(name, length, 1e-6)).map(Math.abs)
      : Float32Array.from(noise(name, length, 1e-3));
  return stateOf(pair, { steps: 10, make });
}

async function stateContinues(pair: Pair): Promise<void> {
  await pair.stage.loadOptimizer(suiteState(pair));
  await accumulate(pair.stage, suiteMicrobatch(pair.spec, 0));
  await stepAgrees(pair);
}

async function stepsRepeat({ spec, stage }: Pair): Promise<void> {
  const step = async (index: number) => {
    await accumulate(stage, suiteMicrobatch(spec, index));
    await stage.step(stepOptions);
  };
  await step(0);
  const [parameters, state] = [await stage.readParameters(), await stage.readOptimizer()];
  const results = [];
  for (let time = 0; time < 2; time++) {
    await stage.loadParameters(parameters);
    await stage.loadOptimizer(state);
    await step(1);
    await step(2);
    results.push([await stage.readParameters(), await stage.readOptimizer()]);
  }
  assertEquals(results[0], results[1]);
  await stage.loadParameters(suiteParameters(spec));
  await stage.loadOptimizer({ vectors: zeros(state), steps: 0 });
  for (const index of [0, 1, 2]) await step(index);
  assertEquals(
    [await stage.readParameters(), await stage.readOptimizer()],
    results[0],
    "without the way over the host",
  );
}

function zeros({ vectors }: OptimizerState): Record<string, Float32Array> {
  return Object.fromEntries(Object.entries(vectors).map(([name, { length }]) => [name, new Float32Array(length)]));
}

async function stateRoundTrips(pair: Pair): Promise<void> {
  const { spec, stage } = pair;
  const state = suiteState(pair);
  await stage.loadOptimizer(state);
  const parameters = suiteVector(spec, { label: "parameters", scale: 2 });
  await stage.loadParameters(parameters);
  assertEquals(await stage.readParameters(), parameters);
  assertEquals(await stage.readOptimizer(), state, "loadParameters leaves the state alone");
}

async function partsAreTheWhole(pair: Pair): Promise<void> {
  const { spec, stage } = pair;
  const parameters = suiteVector(spec, { label: "parameters", scale: 1 });
  const { vectors } = suiteState(pair);
  for (const [name, values] of Object.entries({ parameters, ...vectors })) {
    const { length } = values;
    const cut = Math.floor(length / 3);
    for (const [start, end] of [[cut, length], [0, cut]] as const) {
      await stage.writePart(name, { offset: start, values: values.subarray(start, end) });
    }
    assertEquals(await stage.readPart(name, { offset: cut - 1, length: 3 }), values.slice(cut - 1, cut + 2));
  }
  await stage.setSteps(7);
  assertEquals(await stage.countSteps(), 7);
  assertEquals(await stage.readParameters(), parameters);
  assertEquals(await stage.readOptimizer(), { vectors, steps: 7 });
  const { length } = parameters;
  const over = new Float32Array(2);
  await assertRefused(() => stage.writePart("parameters", { offset: length - 1, values: over }), length, length + 1);
  await assertRefused(() => stage.readPart("firstMoments", { offset: -1, length: 1 }), -1);
  assertEquals(await stage.readParameters(), parameters, "a refused part changes nothing");
}
