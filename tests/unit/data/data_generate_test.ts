/** Sampling and text generation: the distribution, the seed, the window that slides, padding that changes nothing. */

import { assert, assertAlmostEquals, assertEquals, assertThrows } from "@std/assert";
import { generateText, sampleToken } from "../../../cli/model/generate/generate_text.ts";
import { Tokenizer } from "../../../core/tokenizer/bpe.ts";
import type { StageCompute } from "../../../gpu/compute.ts";
import { createReferenceStage } from "../../lab/reference/stage.ts";
import { parametersOf, specsOf, tinyConfig } from "../../support/tiny_model.ts";

const tokenizer = new Tokenizer({ merges: [] }); // 256 bytes and <|endoftext|>
const vocabSize = 320; // rows beyond the tokenizer's are never sampled

/** The toy model as text sees it, every stage with one sequence. */
async function openStages(stages: number): Promise<StageCompute[]> {
  const config = tinyConfig({
    model: { vocabSize, contextLength: 8, layers: 3 },
    pipeline: { stages },
    train: { sequencesPerMicrobatch: 1 },
  });
  return await Promise.all(
    specsOf(config).map(async (spec) => {
      const stage = createReferenceStage(spec);
      await stage.loadParameters(parametersOf(spec).map((value) => value * 4)); // sharper than at the start of a run
      return stage;
    }),
  );
}

const settings = { tokenizer, prompt: "The people", tokens: 12, temperature: 1, topK: 40, seed: 5 };

Deno.test("sampleToken: temperature 0 takes the likeliest, the first of equals", () => {
  const logits = Float32Array.of(0, 3, 1, 3);
  for (const uniform of [0, 0.5, 0.999]) assertEquals(sampleToken(logits, { temperature: 0, topK: 0, uniform }), 1);
});

Deno.test("sampleToken: a sweep of draws gives the softmax's shares", () => {
  const logits = Float32Array.of(Math.log(1), Math.log(2), Math.log(3), Math.log(4));
  const draws = 10_000;
  for (const temperature of [1, 0.5]) {
    const counts = [0, 0, 0, 0];
    for (let i = 0; i < draws; i++) {
      counts[sampleToken(logits, { temperature, topK: 0, uniform: (i + 0.5) / draws })]! += 1;
    }
    const weights = [1, 2, 3, 4].map((weight) => weight ** (1 / temperature));
    const sum = weights.reduce((a, b) => a + b);
    for (const [id, weight] of weights.entries()) assertAlmostEquals(counts[id]! / draws, weight / sum, 2 / draws);
  }
});

Deno.test("sampleToken: only the topK likeliest are taken, ties by the smaller id", () => {
  const logits = Float32Array.of(1, 5, 2, 2, 2, 4);
  const taken = (topK: number) =>
    new Set(Array.from({ length: 500 }, (_, i) => sampleToken(logits, { temperature: 1, topK, uniform: i / 500 })));
  assertEquals(taken(1), new Set([1]));
  assertEquals(taken(2), new Set([1, 5]));
  assertEquals(taken(4), new Set([1, 2, 3, 5]));
  assertEquals(taken(0).size, 6);
  assertEquals(taken(100).size, 6);
});

Deno.test("sampleToken: NaN logits are our bug", () => {
  assertThrows(
    () => sampleToken(Float32Array.of(0, NaN), { temperature: 1, topK: 0, uniform: 0 }),
    Error,
    "token 1 has NaN",
  );
});

Deno.test("generateText: the same seed gives the same text, another seed another", async () => {
  const stages = await openStages(3);
  const text = await generateText({ ...settings, stages });
  assertEquals(await generateText({ ...settings, stages }), text);
  assert(await generateText({ ...settings, stages, seed: 6 }) !== text);
  assert(text.length > 0);
});

Deno.test("generateText: however the model is cut, the text is the same", async () => {
  const tokens: number[] = [];
  const whole = await generateText({
    ...settings,
    stages: await openStages(1),
    onToken: (token) => tokens.push(token),
  });
  assertEquals(await generateText({ ...settings, stages: await openStages(3) }), whole);
  assertEquals(tokenizer.decode(tokens), whole);
});

Deno.test("generateText: an empty prompt starts a document, zero tokens give no text", async () => {
  const stages = await openStages(1);
  assert((await generateText({ ...settings, stages, prompt: "", temperature: 0 })).length > 0);
  assertEquals(await generateText({ ...settings, stages, tokens: 0 }), "");
});

Deno.test("generateText: padding on the right does not change what is predicted", async () => {
  const [stage] = await openStages(1);
  assert(stage !== undefined);
  const logits = (padding: number) => {
    const tokens = new Uint32Array(8).fill(padding);
    tokens.set([84, 104, 101]);
    return stage.logitsAt({ type: "tokens", tokens }, 2);
  };
  assertEquals(await logits(0), await logits(77));
});
