/** The split of layers into stages, against every other split. */

import { assert, assertEquals, assertThrows } from "@std/assert";
import { codecNames } from "../../../core/codec/codec_names.ts";
import type { RunConfig } from "../../../core/config/config.ts";
import { resolveConfig } from "../../../core/settings/parse.ts";
import { sizeNames } from "../../../core/config/size.ts";
import { type StageSpec, stageSpecs } from "../../../core/model/spec.ts";
import { splitLayers, stageFlopsPerToken, stageParameterLengths } from "../../../core/model/stages.ts";
import { isWhole } from "../../support/whole.ts";

function configOf(overrides: Record<string, unknown>, size = "tiny"): RunConfig {
  const result = resolveConfig({ size, overrides });
  assert(result.ok, result.ok ? "" : result.problems.map(({ text }) => text).join("\n"));
  return result.config;
}

function costs(config: RunConfig, layersOfStages: readonly number[]): number[] {
  return stageSpecs(config, layersOfStages).map((stage) => stageFlopsPerToken(stage).training);
}

/** Every way to write `layers` as a sum of `stages` positive numbers. */
function* allSplits(layers: number, stages: number): Generator<number[]> {
  if (stages === 1) return yield [layers];
  for (let first = 1; first <= layers - stages + 1; first++) {
    for (const rest of allSplits(layers - first, stages - 1)) yield [first, ...rest];
  }
}

Deno.test("Stages: no other split has a cheaper slowest stage, nor one as cheap with more even others", () => {
  const rank = (config: RunConfig, split: readonly number[]) => {
    const all = costs(config, split);
    return { slowest: Math.max(...all), squares: all.reduce((sum, cost) => sum + cost * cost, 0) };
  };
  for (const codec of codecNames) {
    for (const vocabSize of [64, 1024, 32768]) {
      for (let layers = 1; layers <= (isWhole ? 12 : 8); layers++) {
        for (let stages = 1; stages <= Math.min(layers, 5); stages++) {
          const config = configOf({
            "pipeline.codec": codec,
            "model.vocabSize": vocabSize,
            "model.layers": layers,
            "pipeline.stages": stages,
          });
          const chosen = rank(config, splitLayers(config));
          for (const split of allSplits(layers, stages)) {
            const other = rank(config, split);
            const isBetter = other.slowest < chosen.slowest ||
              (other.slowest === chosen.slowest && other.squares < chosen.squares);
            assert(!isBetter, `${layers} layers, V ${vocabSize}, ${codec}: ${splitLayers(config)} against ${split}`);
          }
        }
      }
    }
  }
});

Deno.test("Stages: all layers are dealt, at least one to each", () => {
  for (const size of sizeNames) {
    const config = configOf({}, size);
    const split = splitLayers(config);
    assertEquals(split.length, config.pipeline.stages);
    assertEquals(split.reduce((a, b) => a + b, 0), config.model.layers);
    assert(split.every((count) => count >= 1));
  }
});

Deno.test("Stages: a large vocabulary takes layers from the tail, a small one gives it more", () => {
  const large = splitLayers(configOf({ "model.vocabSize": 32768, "model.layers": 24 }));
  const small = splitLayers(configOf({ "model.vocabSize": 64, "model.layers": 24 }));
  assert(large[2]! < large[1]!, `${large}`);
  assert(small[2]! > small[1]!, `${small}`); // the tail recomputes nothing
  assertEquals(splitLayers(configOf({ "model.layers": 6 })), [2, 2, 2]);
});

Deno.test("Stages: as many stages as layers, and one stage for all", () => {
  assertEquals(splitLayers(configOf({ "model.layers": 6, "pipeline.stages": 6 })), [1, 1, 1, 1, 1, 1]);
  assertEquals(splitLayers(configOf({ "model.layers": 6, "pipeline.stages": 1 })), [6]);
});

Deno.test("Stages: fewer layers than stages is refused before, as a problem to read", () => {
  const result = resolveConfig({ overrides: { "pipeline.stages": 7, "model.layers": 3 } });
  assert(!result.ok && result.problems[0]!.text.includes("every stage needs a layer"));
  const config = configOf({});
  assertThrows(() => splitLayers({ ...config, pipeline: { ...config.pipeline, stages: 7 } }), Error, "7 stages");
});

Deno.test("Stages: a size gets a layer for each stage where it has fewer and no number is given", () => {
  assertEquals(configOf({ "pipeline.stages": 4 }, "tiny").model.layers, 4);
  assertEquals(configOf({ "pipeline.stages": 2 }, "tiny").model.layers, 3);
});

Deno.test("Stages: a deep pipeline of the largest model is split in a moment", () => {
  const config = configOf({ "model.layers": 256, "pipeline.stages": 64 }, "15b");
  const split = splitLayers(config);
  assertEquals(split.reduce((a, b) => a + b, 0), 256);
});

Deno.test("Stages: FLOPs per token are those of the matrices and of attention", () => {
  const config = configOf({ "pipeline.bottleneckWidth": 16, "pipeline.sideWidth": 32 });
  const [head, body, tail] = stageSpecs(config, [2, 2, 2]) as [StageSpec, StageSpec, StageSpec];
  // q 128x128, k and v 64x128 each, o 128x128, gate and up 384x128, down 128x384; 129 / 2 keys on average.
  const layer = 2 * (128 * 128 + 2 * 64 * 128 + 128 * 128 + 3 * 384 * 128) + 2 * 2 * 128 * 64.5;
  const codec = 2 * 16 * 128;
  const side = 32 + 2 * 32 * 128; // a row of the table, widened
  assertEquals(stageFlopsPerToken(head), { forward: 2 * layer + 128 + codec, training: 4 * (2 * layer + 128 + codec) });
  assertEquals(stageFlopsPerToken(body).forward, 2 * layer + 2 * codec + side);
  assertEquals(stageFlopsPerToken(tail).forward, 2 * layer + codec + side + 2 * 128 * 1024);
  assertEquals(stageFlopsPerToken(tail).training, 3 * stageFlopsPerToken(tail).forward);
});

Deno.test("Stages: none has more parameters than 16 GiB can train, if the number of stages allows that", () => {
  const parametersOf = (size: string, stages: number) => {
    const config = configOf({ "pipeline.stages": stages }, size);
    return stageParameterLengths(config).map((length) => length / 1e6);
  };
  assert(Math.max(...parametersOf("8b", 10)) < 950);
  assert(Math.max(...parametersOf("8b", 8)) > 1_000, "eight are too few, so they are as even as they can be");
  assertEquals(splitLayers(configOf({ "pipeline.stages": 10 }, "8b")), [1, 3, 3, 4, 4, 4, 4, 4, 4, 1]);
});
