/** Learning rate, join ramp and clip factor. */

import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import type { TrainConfig } from "../../../core/config/config.ts";
import { resolveConfig } from "../../../core/settings/parse.ts";
import { sizeNames } from "../../../core/config/size.ts";
import { clipFactor, joinWarmup, learningRateAt } from "../../../core/train/schedule.ts";

function trainConfig(overrides: Partial<TrainConfig> = {}, size = "tiny"): TrainConfig {
  const result = resolveConfig({ size });
  assert(result.ok);
  return { ...result.config.train, ...overrides };
}

Deno.test("Schedule: warm-up, constant, decay of a hundred steps", () => {
  const config = trainConfig({
    steps: 100,
    warmupSteps: 10,
    decayFraction: 0.25,
    finalLearningRateFraction: 0.1,
    learningRate: 1,
  });
  const expected: [step: number, rate: number][] = [
    [0, 0.1],
    [4, 0.5],
    [9, 1],
    [10, 1],
    [50, 1],
    [74, 1],
    [75, 1 - 0.9 / 25],
    [87, 1 - 0.9 * 13 / 25],
    [99, 0.1],
    [100, 0.1],
    [1e6, 0.1],
  ];
  for (const [step, rate] of expected) {
    assertAlmostEquals(learningRateAt({ config, step }), rate, 1e-12, `step ${step}`);
  }
});

Deno.test("Schedule: a cosine falls from the end of the warm-up to the end of the run, as in PyTorch", () => {
  const shape = { steps: 110, warmupSteps: 10, finalLearningRateFraction: 0.1, learningRate: 1 };
  const config = trainConfig({ ...shape, schedule: "cosine", decayFraction: 0 }); // which it does not read
  const expected: [step: number, rate: number][] = [
    [0, 0.1],
    [9, 1],
    [10, 0.1 + 0.9 * (1 + Math.cos(Math.PI / 100)) / 2],
    [34, 0.1 + 0.9 * (1 + Math.cos(Math.PI / 4)) / 2],
    [59, 0.55],
    [109, 0.1],
    [1e6, 0.1],
  ];
  for (const [step, rate] of expected) {
    assertAlmostEquals(learningRateAt({ config, step }), rate, 1e-12, `step ${step}`);
  }
  const onlyWarm = trainConfig({ ...shape, warmupSteps: 110, schedule: "cosine" });
  assertAlmostEquals(learningRateAt({ config: onlyWarm, step: 109 }), 1, 1e-12);
});

Deno.test("Schedule: at every size it rises, stays, falls, and is never zero or above the peak", () => {
  for (const size of sizeNames) {
    const config = trainConfig({}, size);
    const stride = Math.max(1, Math.floor(config.steps / 1000));
    let hasFallen = false;
    let before = 0;
    for (let step = 0; step < config.steps; step += stride) {
      const rate = learningRateAt({ config, step });
      assert(rate > 0 && rate <= config.learningRate, `${size} ${step}`);
      if (rate < before) hasFallen = true;
      assert(!(hasFallen && rate > before), `${size} ${step}`);
      before = rate;
    }
    const last = learningRateAt({ config, step: config.steps - 1 });
    assertAlmostEquals(last, config.learningRate * config.finalLearningRateFraction, 1e-12);
  }
});

Deno.test("Schedule: without warm-up and decay it is the peak", () => {
  const config = trainConfig({ warmupSteps: 0, decayFraction: 0 });
  for (const step of [0, 1, 119, 5000]) assertEquals(learningRateAt({ config, step }), config.learningRate);
});

Deno.test("Schedule: where warm-up and decay overlap the smaller one counts", () => {
  const config = trainConfig({
    steps: 4,
    warmupSteps: 4,
    decayFraction: 1,
    finalLearningRateFraction: 0,
    learningRate: 1,
  });
  assertEquals([0, 1, 2, 3].map((step) => learningRateAt({ config, step })), [0.25, 0.5, 0.25, 0]);
});

Deno.test("Schedule: a newcomer's ramp", () => {
  assertEquals([0, 1, 2, 3, 50].map((localSteps) => joinWarmup({ localSteps, joinWarmupSteps: 4 })), [
    0.25,
    0.5,
    0.75,
    1,
    1,
  ]);
  assertEquals(joinWarmup({ localSteps: 0, joinWarmupSteps: 0 }), 1);
});

Deno.test("Schedule: the clip factor brings a norm down to the limit and never up", () => {
  assertEquals(clipFactor({ squareSum: 0, clipNorm: 1 }), 1);
  assertEquals(clipFactor({ squareSum: 0.25, clipNorm: 1 }), 1);
  assertEquals(clipFactor({ squareSum: 1, clipNorm: 1 }), 1);
  assertEquals(clipFactor({ squareSum: 16, clipNorm: 1 }), 0.25);
  assertEquals(clipFactor({ squareSum: 16, clipNorm: 2 }), 0.5);
});

Deno.test("Schedule: a NaN gradient gives no step", () => {
  for (const squareSum of [NaN, Infinity, -Infinity, -1]) assertEquals(clipFactor({ squareSum, clipNorm: 1 }), 0);
});
