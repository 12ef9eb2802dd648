/** The `--size` dial: every size obeys every rule and is as large as its name says. */

import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import type { RunConfig } from "../../../core/config/config.ts";
import { valueAt } from "../../../core/settings/derive.ts";
import { brokenRule } from "../../../core/config/knob.ts";
import { knobAt, knobPaths } from "../../../core/config/knobs.ts";
import { resolveConfig } from "../../../core/settings/parse.ts";
import { sizeNames } from "../../../core/config/size.ts";
import { wireBytes } from "../../../core/codec/wire.ts";
import { modelParameters } from "../../../core/model/shape.ts";
import { parameterTable, stageSpecs } from "../../../core/model/spec.ts";
import type { WireDirection } from "../../../core/codec/codec.ts";
import { wiresOfDirection } from "../../../core/model/stage_wires.ts";
import { splitLayers, stageParameterLengths } from "../../../core/model/stages.ts";

function configOf(size: string): RunConfig {
  const result = resolveConfig({ size });
  assert(result.ok, result.ok ? "" : `${size}: ${result.problems.map(({ text }) => text).join("\n")}`);
  return result.config;
}

for (const size of sizeNames) {
  Deno.test(`Size ${size}: every value obeys its own limits, all rules hold, the stages can be laid out`, () => {
    const config = configOf(size);
    for (const path of knobPaths) assertEquals(brokenRule(knobAt(path), valueAt(config, path)), null, path);
    const { model, pipeline } = config;
    const headWidth = model.width / model.heads;
    assertEquals([model.width % 32, model.vocabSize % 64, model.contextLength % 8, pipeline.bottleneckWidth % 8], [
      0,
      0,
      0,
      0,
    ]);
    assertEquals([headWidth % 4, model.heads % model.kvHeads], [0, 0]);
    assertEquals(splitLayers(config).length, pipeline.stages);
  });

  Deno.test(`Size ${size}: the count of parameters agrees with the tensors`, () => {
    const config = configOf(size);
    const tensors = stageSpecs(config, splitLayers(config)).flatMap((stage) => parameterTable(stage).tensors);
    const own = tensors.filter(({ name }) => !name.startsWith("model.boundary."));
    assertEquals(own.reduce((sum, tensor) => sum + tensor.size, 0), modelParameters(config.model));
  });
}

Deno.test("Size: the number of parameters matches the name", () => {
  const millions: Readonly<Record<string, number>> = {
    tiny: 0.85,
    small: 8.4,
    "100m": 101,
    "1b": 1500,
    "3b": 3607,
    "8b": 8030,
  };
  for (const [size, expected] of Object.entries(millions)) {
    assertAlmostEquals(modelParameters(configOf(size).model) / 1e6, expected, 0.04 * expected, size);
  }
  assertAlmostEquals(modelParameters(configOf("15b").model) / 1e9, 15.1, 0.5);
  assert(modelParameters(configOf("toy").model) < 60_000);
});

Deno.test("Size: a stage with gradient and both moments fits a card of 24 GB, the largest size one of 32 GB", () => {
  for (const size of sizeNames) {
    for (const length of stageParameterLengths(configOf(size))) {
      assert(16 * length < (size === "15b" ? 32e9 : 24e9), `${size}: ${length}`);
    }
  }
});

Deno.test("Size: DiLoCo's outer step from 100m up, plain averaging below", () => {
  assertEquals(configOf("small").outer, { learningRate: 1, momentum: 0, payload: "int8" });
  for (const size of ["100m", "1b", "3b", "8b", "15b"]) {
    assertEquals(configOf(size).outer, { learningRate: 0.7, momentum: 0.9, payload: "int8" });
  }
});

Deno.test("Size: a wire takes at most 1/16 of what bfloat16 takes, both ways on average at most 1/10", () => {
  for (const size of sizeNames) {
    if (size === "toy") continue; // for tests
    const config = configOf(size);
    const share = (direction: WireDirection) => {
      const wires = wiresOfDirection(config, direction);
      return Math.max(...wires.map((wire) => wireBytes(wire) / wire.rows / (2 * config.model.width)));
    };
    assert(share("forward") <= 1 / 16, `${size}: ${share("forward")}`);
    assert((share("forward") + share("gradient")) / 2 <= 1 / 10, `${size}: ${share("gradient")}`);
  }
});
