/**
 * The contract of `StageCompute` (gpu/compute.ts) as tests, for any implementation: every number against the float64
 * reference, and the state rules (accumulate, zero, step, round trips, refusals) on the stage itself.
 *
 * One Deno test per stage shape, so that an implementation that compiles kernels opens once per shape; one step per
 * promise. Each step starts from freshly loaded parameters and zero moments, so any step can be read alone.
 */

import { assert, assertEquals, assertRejects } from "@std/assert";
import { wireBytes } from "../../core/codec/wire.ts";
import { parameterTable, type StageSpec } from "../../core/model/spec.ts";
import { stageWires } from "../../core/model/stage_wires.ts";
import type { OptimizerState } from "../../core/train/optimizer.ts";
import type { StageCompute, StepOptions } from "../../gpu/compute.ts";
import { adamw } from "../../gpu/reference/adamw.ts";
import { createReferenceStage } from "../../gpu/reference/stage.ts";
import {
  assertClose,
  assertWiresClose,
  computeCases,
  gradientTolerance,
  lossTolerance,
  type Microbatch,
  suiteMicrobatch,
  suiteParameters,
  suiteVector,
} from "./compute_world.ts";
import { testWhere } from "../support/test_where.ts";

export interface ComputeSuiteOptions {
  /** Part of a case's name; the others are left out. */
  readonly only?: readonly string[];
  /** Why the suite cannot run here; reported as ignored. */
  readonly skip?: string | null;
}

export type OpenStage = (spec: StageSpec) => Promise<StageCompute>;

/** The stage under test beside the oracle. */
interface Pair {
  readonly spec: StageSpec;
  readonly stage: StageCompute;
  readonly oracle: StageCompute;
}

type Check = (pair: Pair) => Promise<void>;

/** Registers the suite; `open` returns a stage whose parameters are not yet loaded. */
export function computeSuite(name: string, open: OpenStage, options: ComputeSuiteOptions = {}): void {
  const { only, skip = null } = options;
  for (const { name: caseName, spec } of computeCases()) {
    if (only !== undefined && !only.some((part) => caseName.includes(part))) continue;
    testWhere(skip, `StageCompute ${name}: ${caseName}`, async (t) => {
      const pair: Pair = { spec, stage: await open(spec), oracle: createReferenceStage(spec) };
      try {
        for (const [promise, check] of checksOf(spec)) {
          await t.step(promise, async () => {
            await reset(pair);
            await check(pair);
          });
        }
      } finally {
        pair.stage.close();
      }
    });
  }
}

function checksOf(spec: StageSpec): [string, Check][] {
  const common: [string, Check][] = [
    ["gradients of every tensor agree with the reference", gradientsAgree],
    ["gradients accumulate over microbatches until zeroed", gradientsAccumulate],
    ["the same call gives the same bits twice", callsRepeat],
    ["steps are AdamW on the stage's own gradient, decay on matrices only", stepsAreAdamw],
    ["moments continue from where they were loaded", momentsContinue],
    ["parameters and moments come back as they were loaded", stateRoundTrips],
    ["vectors in parts are the vectors as a whole", partsAreTheWhole],
    ["wrong lengths and kinds are refused with the expected and the current value", wrongInputsAreRefused],
  ];
  const tail: [string, Check][] = [
    ["losses agree with the reference, and evaluating leaves gradients alone", lossesAgree],
    ["logits of the first and last position agree with the reference", logitsAgree],
  ];
  return spec.wireOut === null ? [...tail, ...common] : [
    ["the outgoing wire agrees with the reference", wiresAgree],
    ["a backward of a kept forward has the bits of one that computes it again", keptForwardsRepeat],
    ...common,
  ];
}

async function reset({ spec, stage, oracle }: Pair): Promise<void> {
  const { length } = parameterTable(spec);
  for (const one of [stage, oracle]) {
    await one.loadParameters(suiteParameters(spec));
    await one.loadOptimizer(adamwState(new Float32Array(length), new Float32Array(length), 0));
  }
}

/** Accumulates the gradients of one microbatch; what goes back on the incoming wire, null at the head. */
async function accumulate(stage: StageCompute, { input, targets, gradient }: Microbatch): Promise<Uint8Array | null> {
  if (gradient !== null) return await stage.backward(input, gradient);
  return (await stage.turnaround(input, targets)).gradient;
}

async function wiresAgree({ spec, stage, oracle }: Pair): Promise<void> {
  const { output } = stageWires(spec);
  assert(output !== null);
  for (let index = 0; index < 2; index++) {
    const { input } = suiteMicrobatch(spec, index);
    const actual = await stage.forward(input);
    assertWiresClose(output, { what: `wire ${index}`, actual, expected: await oracle.forward(input) });
  }
}

async function keptForwardsRepeat({ spec, stage }: Pair): Promise<void> {
  const microbatches = [0, 1, 2, 3].map((index) => ({ name: `input ${index}`, ...suiteMicrobatch(spec, index) }));
  const orderOfBackward = [2, 0, 3, 1].map((index) => microbatches[index]!);
  const backwards = async (isKept: boolean) => {
    const results = [];
    for (const { input, gradient, name } of orderOfBackward) {
      assert(gradient !== null);
      results.push(await stage.backward(input, gradient, isKept ? { name } : {}));
    }
    const sums = await stage.readGradients();
    await stage.zeroGradients();
    return { results, sums };
  };
  const forwards = async (isKept: boolean) => {
    const wires = [];
    for (const { input, name } of microbatches) wires.push(await stage.forward(input, isKept ? { name } : {}));
    return wires;
  };
  assertEquals(await forwards(true), await forwards(false));
  const again = await backwards(false);
  assertEquals(await backwards(true), again);
  assertEquals(await backwards(true), again, "each is kept for one backward");
  await forwards(true);
  await backwards(false);
  await accumulate(stage, microbatches[0]!);
  await stage.step(stepOptions);
  assertEquals(await backwards(true), await backwards(false), "what was kept is of no use after a step");
}

async function lossesAgree({ spec, stage, oracle }: Pair): Promise<void> {
  const { input, targets } = suiteMicrobatch(spec, 0);
  const expected = await oracle.evaluate(input, targets);
  const evaluated = await stage.evaluate(input, targets);
  assertClose({ what: "evaluate", actual: evaluated, expected }, lossTolerance);
  assertEquals(await stage.gradientSquareSum(), 0);
  const { lossPerSequence } = await stage.turnaround(input, targets);
  assertClose({ what: "turnaround", actual: lossPerSequence, expected }, lossTolerance);
}

async function logitsAgree({ spec, stage, oracle }: Pair): Promise<void> {
  const { input } = suiteMicrobatch(spec, 0);
  for (const position of [0, spec.model.contextLength - 1]) {
    const expected = await oracle.logitsAt(input, position);
    assertEquals(expected.length, spec.sequences * spec.model.vocabSize);
    const actual = await stage.logitsAt(input, position);
    assertClose({ what: `logits at ${position}`, actual, expected }, gradientTolerance);
  }
}

async function assertGradientsClose({ spec, stage, oracle }: Pair): Promise<void> {
  const actual = await stage.readGradients();
  const expected = await oracle.readGradients();
  const table = parameterTable(spec);
  assertEquals(actual.length, table.length);
  for (const { name, offset, size } of table.tensors) {
    const part = (all: Float32Array) => all.subarray(offset, offset + size);
    assertClose({ what: `gradient of ${name}`, actual: part(actual), expected: part(expected) }, gradientTolerance);
  }
  const squareSum = await stage.gradientSquareSum();
  assertClose({ what: "gradientSquareSum", actual: [squareSum], expected: [await oracle.gradientSquareSum()] }, 1e-4);
}

async function gradientsAgree(pair: Pair): Promise<void> {
  const { spec, stage, oracle } = pair;
  const microbatch = suiteMicrobatch(spec, 0);
  const actual = await accumulate(stage, microbatch);
  const expected = await accumulate(oracle, microbatch);
  const { inputGradient } = stageWires(spec);
  if (inputGradient === null) {
    assertEquals(actual, null, "a stage that reads tokens sends no gradient back");
  } else {
    assert(actual !== null && expected !== null, "a stage that reads a wire sends its gradient back");
    assertWiresClose(inputGradient, { what: "gradient on the wire", actual, expected });
  }
  await assertGradientsClose(pair);
}

async function gradientsAccumulate(pair: Pair): Promise<void> {
  const { spec, stage, oracle } = pair;
  for (let index = 0; index < 2; index++) {
    const microbatch = suiteMicrobatch(spec, index);
    await accumulate(stage, microbatch);
    await accumulate(oracle, microbatch);
  }
  await assertGradientsClose(pair);
  await stage.zeroGradients();
  assertEquals(await stage.gradientSquareSum(), 0);
  assert((await stage.readGradients()).every((g) => g === 0), "zeroGradients leaves nothing");
  await accumulate(stage, suiteMicrobatch(spec, 0));
  await stage.loadParameters(suiteParameters(spec));
  assertEquals(await stage.gradientSquareSum(), 0, "loadParameters zeroes gradients");
}

async function callsRepeat({ spec, stage }: Pair): Promise<void> {
  const microbatch = suiteMicrobatch(spec, 0);
  const runOnce = async () => {
    await stage.zeroGradients();
    const wire = spec.wireOut === null ? null : await stage.forward(microbatch.input);
    return { wire, gradient: await accumulate(stage, microbatch), gradients: await stage.readGradients() };
  };
  const first = await runOnce();
  await accumulate(stage, suiteMicrobatch(spec, 1));
  assertEquals(await runOnce(), first);
}

/** Decay large enough to see where it ends, gradient scaled as a clipped mean of four microbatches would be. */
const stepOptions: StepOptions = {
  learningRate: 1e-2,
  gradientScale: 0.2,
  beta1: 0.9,
  beta2: 0.95,
  epsilon: 1e-8,
  weightDecay: 0.5,
};

/** One step against the formula, fed with the gradient the stage itself shows: kernel errors do not blur this check. */
async function stepAgrees({ spec, stage }: Pair): Promise<void> {
  const { decayLength } = parameterTable(spec);
  const before = await stage.readOptimizer();
  const state = {
    parameters: Float64Array.from(await stage.readParameters()),
    first: Float64Array.from(before.vectors.firstMoments!),
    second: Float64Array.from(before.vectors.secondMoments!),
    decayLength,
    steps: before.steps,
  };
  adamw(state, Float64Array.from(await stage.readGradients()), stepOptions);
  await stage.step(stepOptions);
  const after = await stage.readOptimizer();
  assertEquals(after.steps, before.steps + 1);
  assertClose({ what: "first moment", actual: after.vectors.firstMoments!, expected: state.first }, 1e-5);
  assertClose({ what: "second moment", actual: after.vectors.secondMoments!, expected: state.second }, 1e-5);
  const parameters = await stage.readParameters();
  state.parameters.forEach((wanted, i) => {
    // A step moves a value by at most a few learning rates; its own float32 rounding comes on top.
    const allowed = 1e-4 * stepOptions.learningRate + 1e-6 * Math.abs(wanted);
    const difference = Math.abs(parameters[i]! - wanted);
    assert(
      difference <= allowed,
      `parameter ${i} of ${decayLength} with decay: ${parameters[i]} where ${wanted} is expected`,
    );
  });
  assertEquals(await stage.gradientSquareSum(), 0, "a step zeroes gradients");
}

async function stepsAreAdamw(pair: Pair): Promise<void> {
  for (let index = 0; index < 3; index++) {
    await accumulate(pair.stage, suiteMicrobatch(pair.spec, index));
    await stepAgrees(pair);
  }
}

const adamwState = (firstMoments: Float32Array, secondMoments: Float32Array, steps: number): OptimizerState => ({
  vectors: { firstMoments, secondMoments },
  steps,
});

function suiteMoments(spec: StageSpec): OptimizerState {
  const first = suiteVector(spec, { label: "first", scale: 1e-3 });
  const second = suiteVector(spec, { label: "second", scale: 1e-6 }).map(Math.abs);
  return adamwState(first, second, 10);
}

async function momentsContinue(pair: Pair): Promise<void> {
  await pair.stage.loadOptimizer(suiteMoments(pair.spec));
  await accumulate(pair.stage, suiteMicrobatch(pair.spec, 0));
  await stepAgrees(pair);
}

async function stateRoundTrips({ spec, stage }: Pair): Promise<void> {
  const moments = suiteMoments(spec);
  await stage.loadOptimizer(moments);
  const parameters = suiteVector(spec, { label: "parameters", scale: 2 });
  await stage.loadParameters(parameters);
  assertEquals(await stage.readParameters(), parameters);
  assertEquals(await stage.readOptimizer(), moments, "loadParameters leaves moments alone");
}

async function partsAreTheWhole({ spec, stage }: Pair): Promise<void> {
  const { length } = parameterTable(spec);
  const [parameters, first, second] = ["parameters", "first", "second"].map((label) =>
    suiteVector(spec, { label, scale: 1 })
  ) as [Float32Array, Float32Array, Float32Array];
  const cut = Math.floor(length / 3);
  for (const [name, values] of Object.entries({ parameters, firstMoments: first, secondMoments: second })) {
    for (const [start, end] of [[cut, length], [0, cut]] as const) {
      await stage.writePart(name, { offset: start, values: values.subarray(start, end) });
    }
    assertEquals(await stage.readPart(name, { offset: cut - 1, length: 3 }), values.slice(cut - 1, cut + 2));
  }
  await stage.setSteps(7);
  assertEquals(await stage.countSteps(), 7);
  assertEquals(await stage.readParameters(), parameters);
  assertEquals(await stage.readOptimizer(), adamwState(first, second, 7));
  const over = new Float32Array(2);
  await assertRefused(() => stage.writePart("parameters", { offset: length - 1, values: over }), length, length + 1);
  await assertRefused(() => stage.readPart("firstMoments", { offset: -1, length: 1 }), -1);
  assertEquals(await stage.readParameters(), parameters, "a refused part changes nothing");
}

/** The rejection names the expected and the actual value. */
async function assertRefused(call: () => Promise<unknown>, ...parts: readonly (string | number)[]): Promise<void> {
  const error = await assertRejects(call, Error);
  for (const part of parts) {
    assert(error.message.includes(String(part)), `'${error.message}' does not name ${part}`);
  }
}

async function wrongInputsAreRefused({ spec, stage }: Pair): Promise<void> {
  const { input, targets, gradient } = suiteMicrobatch(spec, 0);
  const { length } = parameterTable(spec);
  const rows = spec.sequences * spec.model.contextLength;
  await assertRefused(() => stage.loadParameters(new Float32Array(length - 1)), length, length - 1);
  const run = (other: typeof input) => gradient === null ? stage.turnaround(other, targets) : stage.forward(other);
  const wires = stageWires(spec);
  if (wires.input === null) {
    await assertRefused(() => run({ type: "tokens", tokens: new Uint32Array(rows + 1) }), rows, rows + 1);
    await assertRefused(() => run({ type: "wire", wire: new Uint8Array(rows) }), "tokens", "wire");
  } else {
    const bytes = wireBytes(wires.input);
    await assertRefused(() => run({ type: "wire", wire: new Uint8Array(bytes - 1) }), bytes, bytes - 1);
    await assertRefused(() => run({ type: "tokens", tokens: new Uint32Array(rows) }), "tokens", "wire");
  }
  if (wires.outputGradient === null) {
    await assertRefused(() => stage.turnaround(input, new Uint32Array(rows - 1)), rows, rows - 1);
    await assertRefused(() => stage.forward(input), "tail");
  } else {
    const bytes = wireBytes(wires.outputGradient);
    await assertRefused(() => stage.backward(input, new Uint8Array(bytes + 1)), bytes, bytes + 1);
    await assertRefused(() => stage.turnaround(input, targets), "tail");
  }
  await assertRefused(() => stage.loadOptimizer(adamwState(new Float32Array(1), new Float32Array(length), 0)));
  assertEquals(await stage.gradientSquareSum(), 0, "a refused call changes nothing");
}
