/**
 * The reference against another implementation: tests/vectors/compute/make_vectors.py (JAX, float64, automatic
 * differentiation), which checks itself against Hugging Face's Llama before it writes.
 */

import { assert, assertEquals } from "@std/assert";
import type { Codec } from "../../../core/codec/codec_names.ts";
import type { ModelShape } from "../../../core/model/shape.ts";
import { createStageModel, type StageModel } from "../../lab/reference/stage_model.ts";
import { chainBackward } from "../../support/reference_chain.ts";
import { specsOf, tinyConfig } from "../../support/tiny_model.ts";

interface Golden {
  model: ModelShape;
  bottleneckWidth: number;
  sequences: number;
  tokens: number[];
  targets: number[];
  lossPerSequence: number[];
  tensors: { name: string; size: number }[];
}

interface GoldenArrays {
  parameters: Map<string, Float32Array>;
  gradients: Map<string, Float32Array>;
  logits: Float32Array; // (B, T, V)
}

function readGolden(codec: Codec): { golden: Golden; arrays: GoldenArrays } {
  const file = (ending: string) => new URL(`../../vectors/compute/${codec}.${ending}`, import.meta.url);
  const golden: Golden = JSON.parse(Deno.readTextFileSync(file("json")));
  const values = new Float32Array(Deno.readFileSync(file("bin")).buffer);
  let offset = 0;
  const take = (size: number) => values.subarray(offset, offset += size);
  const named = () => new Map(golden.tensors.map(({ name, size }) => [name, take(size)]));
  const arrays = {
    parameters: named(),
    gradients: named(),
    logits: take(golden.tokens.length * golden.model.vocabSize),
  };
  assertEquals(offset, values.length, "the file holds exactly what its index says");
  return { golden, arrays };
}

function openChain(
  { golden, arrays }: { golden: Golden; arrays: GoldenArrays },
  codec: Codec,
  stages: number,
): StageModel[] {
  const config = tinyConfig({
    model: golden.model,
    pipeline: { codec, stages, bottleneckWidth: golden.bottleneckWidth },
    train: { sequencesPerMicrobatch: golden.sequences },
  });
  const chain = specsOf(config).map(createStageModel);
  const placed = new Set<string>();
  for (const model of chain) {
    for (const [name, { value }] of model.tensors) {
      const parameters = arrays.parameters.get(name);
      assert(parameters !== undefined, `the golden file has no tensor ${name}`);
      value.set(parameters);
      placed.add(name);
    }
  }
  assertEquals(placed.size, golden.tensors.length, "every golden tensor has its place");
  return chain;
}

/** The files hold float32, so seven digits are all that can agree. */
const tolerance = 1e-6;

function assertSame(what: string, actual: Float64Array, expected: Float32Array): void {
  assertEquals(actual.length, expected.length, what);
  let difference = 0, size = 0;
  expected.forEach((value, i) => {
    difference += (actual[i]! - value) ** 2;
    size += value ** 2;
  });
  const error = Math.sqrt(difference / size);
  assert(error <= tolerance, `${what}: relative L2 ${error}`);
}

for (const [codec, stages] of [["none", 1], ["none", 3], ["iota", 3]] as const) {
  Deno.test(`Golden vectors: logits, losses and every gradient, ${stages} stages, codec ${codec}`, () => {
    const vectors = readGolden(codec);
    const { golden, arrays } = vectors;
    const chain = openChain(vectors, codec, stages);
    const pass = chainBackward(chain, {
      tokens: Uint32Array.from(golden.tokens),
      targets: Uint32Array.from(golden.targets),
    });
    assertSame("logits", pass.head.logits, arrays.logits);
    const { contextLength } = golden.model;
    golden.lossPerSequence.forEach((expected, b) => {
      const losses = pass.losses.subarray(b * contextLength, (b + 1) * contextLength);
      const loss = losses.reduce((sum, value) => sum + value, 0) / contextLength;
      assert(Math.abs(loss - expected) <= 1e-12 * expected, `loss ${loss} where ${expected} is expected`);
    });
    for (const model of chain) {
      for (const [name, { gradient }] of model.tensors) {
        assertSame(`gradient of ${name}`, gradient, arrays.gradients.get(name)!);
      }
    }
  });
}
