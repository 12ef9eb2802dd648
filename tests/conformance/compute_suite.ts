/**
 * The contract of `StageCompute` (gpu/compute.ts) as tests, for any implementation: every number against the float64
 * reference, and the state rules (accumulate, zero, step, round trips, refusals) on the stage itself.
 *
 * One Deno test per stage shape, so that an implementation that compiles kernels opens once per shape; one step per
 * promise. Each step starts from freshly loaded parameters and zero state, so any step can be read alone.
 */

import { assert, assertEquals } from "@std/assert";
import { wireBytes } from "../../core/codec/wire.ts";
import { parameterTable, type StageSpec } from "../../core/model/spec.ts";
import { stageWires } from "../../core/model/stage_wires.ts";
import { defaultOptimizer, type OptimizerName, optimizerNames } from "../../core/config/optimizer_names.ts";
import type { StageCompute } from "../../gpu/compute.ts";
import { createReferenceStage } from "../lab/reference/stage.ts";
import { accumulate, assertRefused, type Check, type Pair, reset, stepOptions } from "./compute_pair.ts";
import {
  assertClose,
  assertWiresClose,
  computeCases,
  gradientTolerance,
  lossTolerance,
  suiteMicrobatch,
  suiteParameters,
} from "./compute_world.ts";
import { optimizerChecks } from "./optimizer_checks.ts";
import { testWhere } from "../support/test_where.ts";

export interface ComputeSuiteOptions {
  /** Part of a case's name; the others are left out. */
  readonly only?: readonly string[];
  /** What every number is held against. @default the float64 reference */
  readonly oracle?: OpenStage;
  readonly optimizers?: readonly OptimizerName[]; // default: all
  /** As `only`, for the optimizers that are not the default, whose part knows no codecs. */
  readonly onlyOthers?: readonly string[];
  /** Why the suite cannot run here; reported as ignored. */
  readonly skip?: string | null;
}

export type OpenStage = (spec: StageSpec, optimizer: OptimizerName) => Promise<StageCompute>;

/** One of each role, for suites whose cases take long or add little. */
export const aFew = ["whole model", "receives and sends", "4:1 heads"];

/** One small stage of each codec, of all roles that have a wire, one of them with a side. */
export const onePerCodec = [
  ...["receives and sends", "4:1 heads", "body, q5block, side"],
  ...["head, codec q4block", "q6block", "body, codec resbm"],
];

const openReference: OpenStage = (spec, optimizer) => Promise.resolve(createReferenceStage(spec, { optimizer }));

/**
 * Registers the suite: all of it with the default optimizer, the optimizer's part with the others. `open` returns a stage whose
 * parameters are not yet loaded.
 */
export function computeSuite(name: string, open: OpenStage, options: ComputeSuiteOptions = {}): void {
  const { only, onlyOthers = only, oracle = openReference, skip = null, optimizers = optimizerNames } = options;
  const isAmong = (parts: readonly string[] | undefined, caseName: string) =>
    parts === undefined || parts.some((part) => caseName.includes(part));
  for (const { name: caseName, spec } of computeCases()) {
    for (const optimizer of optimizers) {
      const isDefault = optimizer === defaultOptimizer;
      if (!isAmong(isDefault ? only : onlyOthers, caseName)) continue;
      const checks = [...isDefault ? checksOf(spec) : [], ...optimizerChecks];
      testWhere(skip, `StageCompute ${name}: ${caseName}${isDefault ? "" : `, ${optimizer}`}`, async (t) => {
        const stage = await open(spec, optimizer);
        const pair: Pair = { spec, optimizer, stage, oracle: await oracle(spec, optimizer) };
        try {
          for (const [promise, check] of checks) {
            await t.step(promise, async () => {
              await reset(pair);
              await check(pair);
            });
          }
        } finally {
          stage.close();
          pair.oracle.close();
        }
      });
    }
  }
}

function checksOf(spec: StageSpec): [string, Check][] {
  const common: [string, Check][] = [
    ["gradients of every tensor agree with the reference", gradientsAgree],
    ["gradients accumulate over microbatches until zeroed", gradientsAccumulate],
    ["the same call gives the same bits twice", callsRepeat],
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
  const whole = new Float32Array(length);
  const vectors = { firstMoments: new Float32Array(1), secondMoments: whole };
  await assertRefused(() => stage.loadOptimizer({ vectors, steps: 0 }));
  assertEquals(await stage.gradientSquareSum(), 0, "a refused call changes nothing");
}
