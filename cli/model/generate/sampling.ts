/** Draws a token by its logits. */

import { assert } from "../../../core/assert.ts";

export interface Sampling {
  readonly temperature: number; // 0 always takes the most likely token
  readonly topK: number; // candidates; 0 = all
  /** Of the candidates only the likeliest that together have this share (nucleus sampling, arXiv 1904.09751). @default 1 */
  readonly topP?: number;
}

/** `uniform` lies in [0, 1). */
export function sampleToken(logits: Float32Array, options: Sampling & { uniform: number }): number { // (V)
  const { temperature, topK, topP = 1, uniform } = options;
  assert(temperature >= 0, `'temperature' must be at least 0, but is ${temperature}`);
  assert(topK >= 0, `'topK' must be at least 0, but is ${topK}`);
  const best = likeliest(logits);
  if (temperature === 0) return best;
  const peak = logits[best]!;
  const threshold = topK > 0 && topK < logits.length ? logits.toSorted()[logits.length - topK]! : -Infinity;
  let room = topK > 0 ? topK - logits.reduce((count, logit) => count + (logit > threshold ? 1 : 0), 0) : Infinity;
  let candidates: { id: number; weight: number }[] = [];
  for (const [id, logit] of logits.entries()) {
    if (logit < threshold || (logit === threshold && room-- <= 0)) continue;
    candidates.push({ id, weight: Math.exp((logit - peak) / temperature) });
  }
  if (topP < 1) candidates = nucleus(candidates, topP);
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

function nucleus(candidates: readonly { id: number; weight: number }[], topP: number) {
  const sorted = candidates.toSorted((a, b) => b.weight - a.weight || a.id - b.id);
  const wanted = topP * sorted.reduce((sum, { weight }) => sum + weight, 0);
  let [sum, count] = [0, 0];
  while (count < sorted.length && sum < wanted) sum += sorted[count++]!.weight;
  return sorted.slice(0, count);
}
