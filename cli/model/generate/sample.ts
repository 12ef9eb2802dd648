/**
 * Picks the next token from logits: temperature, top-k, one uniform draw.
 *
 * Deterministic: the draw is the caller's, ties in the top-k go to the smaller id, sums run in id order.
 */

import { assert } from "../../../core/assert.ts";

export interface SampleOptions {
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
