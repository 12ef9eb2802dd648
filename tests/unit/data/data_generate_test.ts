/** Sampling and text generation: the distribution, the seed, several texts at once, texts longer than the context. */

import { assert, assertAlmostEquals, assertEquals, assertThrows } from "@std/assert";
import { generateText, promptTokens } from "../../../cli/model/generate/generate_text.ts";
import { sampleToken } from "../../../cli/model/generate/sampling.ts";
import { TextEngine } from "../../../cli/model/generate/text_engine.ts";
import { TextModel, type TextRoom } from "../../../cli/model/generate/text_model.ts";
import { stagesOf } from "../../../cli/model/source/model_source.ts";
import { createCpuStage } from "../../../gpu/cpu/cpu_stage.ts";
import { processor } from "../../lab/world/devices.ts";
import { toyModel, toyTokenizer } from "../../support/toy_model.ts";

const tokenizer = toyTokenizer;
const contextLength = 8;
const sourceOf = (stages: number) => toyModel({ stages, contextLength });

const openModel = (stages: number, room: Partial<TextRoom> = {}): Promise<TextModel> =>
  TextModel.open(processor, sourceOf(stages), { room: { streams: 1, rows: 4, length: contextLength, ...room } });

const settings = { prompt: "The people", tokens: 12, temperature: 1, topK: 40, seed: 5 };

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

Deno.test("sampleToken: of a nucleus only the likeliest that have the share together are taken", () => {
  const logits = Float32Array.of(Math.log(1), Math.log(4), Math.log(3), Math.log(2)); // tenths
  const taken = (topP: number) => {
    const draw = (uniform: number) => sampleToken(logits, { temperature: 1, topK: 0, topP, uniform });
    return new Set(Array.from({ length: 500 }, (_, i) => draw(i / 500)));
  };
  assertEquals(taken(0.1), new Set([1]));
  assertEquals(taken(0.5), new Set([1, 2]));
  assertEquals(taken(0.75), new Set([1, 2, 3]));
  assertEquals(taken(1).size, 4);
});

Deno.test("generateText: the same seed gives the same text, another seed another", async () => {
  const model = await openModel(3);
  const text = await generateText({ ...settings, model });
  assertEquals(await generateText({ ...settings, model }), text);
  assert(await generateText({ ...settings, model, seed: 6 }) !== text);
  assert(text.length > 0);
});

Deno.test("generateText: however the model is cut, the text is the same", async () => {
  const tokens: number[] = [];
  const model = await openModel(1);
  const whole = await generateText({ ...settings, model, onToken: (token) => tokens.push(token) });
  assertEquals(await generateText({ ...settings, model: await openModel(3) }), whole);
  assertEquals(tokenizer.decode(tokens), whole);
});

Deno.test("generateText: an empty prompt starts a document, zero tokens give no text", async () => {
  const model = await openModel(1);
  assert((await generateText({ ...settings, model, prompt: "", temperature: 0 })).length > 0);
  assertEquals(await generateText({ ...settings, model, tokens: 0 }), "");
});

Deno.test("generateText: a full context goes on with its newest half, read again", async () => {
  const made: number[] = [];
  await generateText({ ...settings, model: await openModel(1), temperature: 0, onToken: (id) => made.push(id) });
  const [spec] = stagesOf(sourceOf(1), { sequences: 1, contextLength });
  const stage = await createCpuStage(spec!, { optimizer: null });
  await stage.loadParameters(await sourceOf(1).readStage(spec!));
  let text = promptTokens(tokenizer, settings.prompt).slice(-contextLength);
  for (const token of made) {
    const tokens = new Uint32Array(contextLength);
    tokens.set(text);
    const logits = await stage.logitsAt({ type: "tokens", tokens }, text.length - 1);
    assertEquals(token, sampleToken(logits.subarray(0, tokenizer.vocabSize), { temperature: 0, topK: 0, uniform: 0 }));
    text = [...text.length === contextLength ? text.slice(-contextLength / 2) : text, token];
  }
  assertEquals(made.length, settings.tokens);
});

Deno.test("Text engine: texts together are the texts alone, also where they outnumber the streams and fill the rows", async () => {
  const requests = ["The people", "a", "Whereas it is", "of"].map((prompt, i) => ({ ...settings, prompt, seed: i }));
  const alone = await openModel(3);
  const expected: string[] = [];
  for (const request of requests) expected.push(await generateText({ ...request, model: alone }));
  const model = await openModel(3, { streams: 3, rows: 2 });
  const engine = new TextEngine(model);
  const made = requests.map((request) => {
    const text = { tokens: [] as number[], end: "" };
    engine.add({
      ...request,
      prompt: promptTokens(tokenizer, request.prompt),
      onToken: (token) => text.tokens.push(token) > 0,
      onEnd: (reason) => text.end = reason,
    });
    return text;
  });
  assertEquals([engine.open, engine.waiting], [0, 4]);
  while (made.some(({ end }) => end === "")) await engine.step();
  assertEquals(made.map(({ tokens }) => tokenizer.decode(tokens)), expected);
  assertEquals([engine.open, engine.waiting], [0, 0]);
});

Deno.test("Text engine: a text that its reader ends frees its stream", async () => {
  const engine = new TextEngine(await openModel(1));
  const ends: string[] = [];
  for (const most of [2, 3]) {
    let made = 0;
    const request = { ...settings, prompt: [84], onToken: () => ++made < most };
    engine.add({ ...request, onEnd: (reason) => ends.push(`${reason} after ${made}`) });
  }
  while (ends.length < 2) await engine.step();
  assertEquals(ends, ["stop after 2", "stop after 3"]);
});
