/**
 * The reference as a whole model: gradients through three stages and both codecs, causality, a split model against the whole
 * one, learning, and continuing from opened parameters with the same bits.
 */

import { assert, assertAlmostEquals, assertEquals, assertRejects } from "@std/assert";
import { type Codec, codecNames } from "../../../core/codec/codec_names.ts";
import type { RunConfig } from "../../../core/config/config.ts";
import type { StageSpec } from "../../../core/model/spec.ts";
import type { StageCompute, StageInput } from "../../../gpu/compute.ts";
import { createReferenceStage } from "../../lab/reference/stage.ts";
import { createStageModel, type StageModel } from "../../lab/reference/stage_model.ts";
import { checkGradient } from "../../support/finite_difference.ts";
import { type Batch, chainBackward, chainForward, mean } from "../../support/reference_chain.ts";
import { parametersOf, specAt, specsOf, tinyConfig, type TinyOverrides, tokensOf } from "../../support/tiny_model.ts";
import { isWhole } from "../../support/whole.ts";

/** d 32, 4 layers, T 8: small enough for thousands of forwards. */
function smallConfig(codec: Codec, overrides: TinyOverrides = {}): RunConfig {
  return tinyConfig({
    ...overrides,
    model: { width: 32, ffnWidth: 64, layers: 4, contextLength: 8, vocabSize: 32, ...overrides.model },
    pipeline: { codec, stages: 3, bottleneckWidth: 8, ...overrides.pipeline },
  });
}

function models(config: RunConfig): StageModel[] {
  return specsOf(config).map((spec) => {
    const model = createStageModel(spec);
    model.parameters.set(parametersOf(spec));
    return model;
  });
}

const withSides = codecNames.flatMap((codec) => [{ codec, sideWidth: 0 }, { codec, sideWidth: 4 }]);

for (const { codec, sideWidth } of withSides) {
  const title = `codec ${codec}${sideWidth === 0 ? "" : `, ${sideWidth} values of each token beside`}`;
  Deno.test(`Model: every tensor's gradient through 3 stages agrees with finite differences, ${title}`, () => {
    const config = smallConfig(codec, { pipeline: { sideWidth } });
    const chain = models(config);
    const batch = tokensOf(specAt(specsOf(config), 0));
    chainBackward(chain, batch);
    const loss = () => mean(chainForward(chain, batch).losses);
    for (const model of chain) {
      for (const [name, { value, gradient }] of model.tensors) {
        checkGradient({ name, at: value, gradient, loss, samples: isWhole ? 6 : 2, tolerance: 1e-5 });
      }
    }
  });

  Deno.test(`Model: a later token does not change an earlier loss, ${title}`, () => {
    const config = smallConfig(codec, { pipeline: { sideWidth } });
    const chain = models(config);
    const batch = tokensOf(specAt(specsOf(config), 0));
    const before = chainForward(chain, batch).losses;
    const { contextLength: positions, vocabSize } = config.model;
    const changed = 5;
    batch.tokens[changed] = (batch.tokens[changed]! + 1) % vocabSize;
    const after = chainForward(chain, batch).losses;
    assertEquals(after.slice(0, changed), before.slice(0, changed));
    assert(after[changed] !== before[changed], "the changed token's own loss moves");
    assertEquals(after.slice(positions), before.slice(positions), "sequences do not see each other");
  });
}

Deno.test("Model: an untrained model costs about ln(V)", () => {
  const config = smallConfig("none");
  const loss = mean(chainForward(models(config), tokensOf(specAt(specsOf(config), 0))).losses);
  assert(Math.abs(loss - Math.log(32)) < 1, `loss ${loss}`);
});

async function openStages(specs: readonly StageSpec[]): Promise<StageCompute[]> {
  const stages = specs.map((spec) => createReferenceStage(spec));
  for (const stage of stages) await stage.loadParameters(parametersOf(stage.spec));
  return stages;
}

/** One microbatch through the pipeline as the swarm runs it, with encoded wires. */
async function trainMicrobatch(stages: readonly StageCompute[], { tokens, targets }: Batch): Promise<Float32Array> {
  const inputs: StageInput[] = [{ type: "tokens", tokens }];
  for (const stage of stages.slice(0, -1)) {
    inputs.push({ type: "wire", wire: await stage.forward(inputs.at(-1)!) });
  }
  const last = await stages.at(-1)!.turnaround(inputs.at(-1)!, targets);
  let { gradient } = last;
  for (let stage = stages.length - 2; stage >= 0; stage--) {
    assert(gradient !== null);
    gradient = await stages[stage]!.backward(inputs[stage]!, gradient);
  }
  assertEquals(gradient, null);
  return last.lossPerSequence;
}

function relativeL2(actual: Float32Array, expected: Float32Array): number {
  let difference = 0, size = 0;
  actual.forEach((value, i) => {
    difference += (value - expected[i]!) ** 2;
    size += expected[i]! ** 2;
  });
  return Math.sqrt(difference / size);
}

Deno.test("ReferenceStage: 3 stages with codec none equal the single-stage model, losses and gradients", async () => {
  const split = await openStages(specsOf(smallConfig("none")));
  const whole = await openStages(specsOf(smallConfig("none", { pipeline: { stages: 1 } })));
  for (let microbatch = 0; microbatch < 2; microbatch++) {
    const batch = tokensOf(whole[0]!.spec, microbatch);
    const losses = await trainMicrobatch(split, batch);
    const expected = await trainMicrobatch(whole, batch);
    losses.forEach((loss, b) => assertAlmostEquals(loss, expected[b]!, 1e-5));
  }
  const single = createStageModel(whole[0]!.spec);
  const wholeGradients = await whole[0]!.readGradients();
  for (const stage of split) {
    const gradients = await stage.readGradients();
    for (const { name, offset, size } of createStageModel(stage.spec).table.tensors) {
      const place = single.table.tensors.find((tensor) => tensor.name === name);
      assert(place !== undefined, name);
      const error = relativeL2(
        gradients.subarray(offset, offset + size),
        wholeGradients.subarray(place.offset, place.offset + size),
      );
      assert(error <= 1e-6, `${name}: relative L2 ${error}`);
    }
  }
});

for (const codec of codecNames) {
  Deno.test(`ReferenceStage: learns one microbatch by heart, codec ${codec}`, async () => {
    const stages = await openStages(specsOf(smallConfig(codec)));
    const batch = tokensOf(stages[0]!.spec);
    const first = mean(await trainMicrobatch(stages, batch));
    const options = {
      learningRate: 1e-2,
      gradientScale: 1,
      beta1: 0.9,
      beta2: 0.95,
      epsilon: 1e-8,
      weightDecay: 0.1,
    };
    let last = first;
    for (let step = 0; step < 40; step++) {
      for (const stage of stages) await stage.step(options);
      last = mean(await trainMicrobatch(stages, batch));
    }
    assert(last < 0.3 * first, `loss ${first} -> ${last}`);
  });
}

Deno.test("ReferenceStage: a stage restored from its exported state continues with the same bits", async () => {
  const config = smallConfig("none", { pipeline: { stages: 1 } });
  const [old, young] = await openStages([...specsOf(config), ...specsOf(config)]);
  const options = { learningRate: 1e-2, gradientScale: 1, beta1: 0.9, beta2: 0.95, epsilon: 1e-8, weightDecay: 0.1 };
  const advance = async (stage: StageCompute, microbatch: number) => {
    await trainMicrobatch([stage], tokensOf(stage.spec, microbatch));
    await stage.step(options);
  };
  await advance(old!, 0);
  await advance(old!, 1);
  await young!.loadParameters(await old!.readParameters());
  await young!.loadOptimizer(await old!.readOptimizer());
  await advance(old!, 2);
  await advance(young!, 2);
  assertEquals(await young!.readParameters(), await old!.readParameters());
  assertEquals(await young!.readOptimizer(), await old!.readOptimizer());
});

Deno.test("ReferenceStage: a call after close is refused", async () => {
  const stage = createReferenceStage(specAt(specsOf(smallConfig("none")), 0));
  stage.close();
  await assertRejects(() => stage.readParameters(), Error, "closed");
});
