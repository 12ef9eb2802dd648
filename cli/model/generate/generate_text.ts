/**
 * Continues a prompt with a model whose stages are all in this process.
 *
 * Each token runs the whole window through the stages again: the interface has no key-value cache. A short prompt is
 * padded on the right; attention is causal, so later positions cannot change earlier ones. For longer text the window
 * slides.
 */

import { assert, present } from "../../../core/assert.ts";
import { keyOf, nextUint32, openStream } from "../../../core/prng.ts";
import type { Tokenizer } from "../../../core/tokenizer/bpe.ts";
import type { StageCompute, StageInput } from "../../../gpu/compute.ts";

interface SampleOptions {
  readonly temperature: number; // 0 always takes the most likely token
  readonly topK: number; // candidates; 0 = all
}

/** `uniform` lies in [0, 1). */
export function sampleToken(logits: Float32Array, options: SampleOptions & { uniform: number }): number { // (V)
  const { temperature, topK, uniform } = options;
  assert(temperature >= 0, `'temperature' must be at least 0, but is ${temperature}`);
  assert(topK >= 0, `'topK' must be at least 0, but is ${topK}`);
  const best = likeliest(logits);
  if (temperature === 0) return best;
  const peak = logits[best]!;
  const threshold = topK > 0 && topK < logits.length ? logits.toSorted()[logits.length - topK]! : -Infinity;
  let room = topK > 0 ? topK - logits.reduce((count, logit) => count + (logit > threshold ? 1 : 0), 0) : Infinity;
  const candidates: { id: number; weight: number }[] = [];
  for (const [id, logit] of logits.entries()) {
    if (logit < threshold || (logit === threshold && room-- <= 0)) continue;
    candidates.push({ id, weight: Math.exp((logit - peak) / temperature) });
  }
  let left = uniform * candidates.reduce((sum, { weight }) => sum + weight, 0);
  for (const { id, weight } of candidates) {
    left -= weight;
    if (left < 0) return id;
  }
  return best; // rounding exhausted the sum
}

function likeliest(logits: Float32Array): number {
  let best = 0;
  for (const [id, logit] of logits.entries()) {
    assert(Number.isFinite(logit), `Every logit must be finite, but token ${id} has ${logit}`);
    if (logit > logits[best]!) best = id;
  }
  return best;
}

interface GenerateOptions extends SampleOptions {
  readonly stages: readonly StageCompute[]; // head to tail, opened with `sequences: 1`, parameters loaded
  readonly tokenizer: Tokenizer;
  readonly prompt: string;
  readonly tokens: number;
  readonly seed: number;
  /** @default always goes on */
  readonly goesOn?: () => boolean;
  readonly onToken?: (token: number) => void;
}

/** Returns the continuation without the prompt. Ends early at `<|endoftext|>`, which is not part of it. */
export async function generateText(options: GenerateOptions): Promise<string> {
  const { stages, tokenizer, seed, goesOn = () => true } = options;
  const tail = present(stages.at(-1), "Generating needs at least one stage");
  const { contextLength, vocabSize } = tail.spec.model;
  assert(
    stages.every(({ spec }) => spec.sequences === 1),
    "Generating needs stages that are opened with one sequence",
  );
  assert(
    tokenizer.vocabSize <= vocabSize,
    `The model must have a row for each of the tokenizer's ${tokenizer.vocabSize} tokens, but has ${vocabSize}`,
  );
  const stream = openStream(keyOf(seed, "generate"));
  const text = promptTokens(tokenizer, options.prompt);
  const first = text.length;
  while (text.length - first < options.tokens && goesOn()) {
    const window = text.slice(-contextLength);
    const tokens = new Uint32Array(contextLength);
    tokens.set(window);
    const logits = await logitsOf(stages, { tokens, position: window.length - 1 });
    const uniform = nextUint32(stream) / 2 ** 32;
    const token = sampleToken(logits.subarray(0, tokenizer.vocabSize), { ...options, uniform });
    if (token === tokenizer.endOfText) break;
    text.push(token);
    options.onToken?.(token);
  }
  return tokenizer.decode(text.slice(first));
}

/** Without a prompt the text begins as a document does. */
export function promptTokens(tokenizer: Tokenizer, prompt: string): number[] {
  const tokens = tokenizer.encode(prompt);
  return tokens.length > 0 ? tokens : [tokenizer.endOfText];
}

async function logitsOf(
  stages: readonly StageCompute[],
  options: { tokens: Uint32Array; position: number },
): Promise<Float32Array> {
  let input: StageInput = { type: "tokens", tokens: options.tokens };
  for (const stage of stages.slice(0, -1)) input = { type: "wire", wire: await stage.forward(input) };
  return await present(stages.at(-1), "Generating needs a tail").logitsAt(input, options.position);
}
