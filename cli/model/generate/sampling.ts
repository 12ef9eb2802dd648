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
  const { threshold, above } = topK > 0 && topK < logits.length ? leastOf(logits, topK) : everything;
  let room = topK - above;
  let candidates: { id: number; weight: number }[] = [];
  for (let id = 0; id < logits.length; id++) {
    const logit = logits[id]!;
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

const everything = { threshold: -Infinity, above: 0 };

function likeliest(logits: Float32Array): number {
  let best = 0;
  for (let id = 0; id < logits.length; id++) {
    const logit = logits[id]!;
    if (!Number.isFinite(logit)) assert(false, `Every logit must be finite, but token ${id} has ${logit}`);
    if (logit > logits[best]!) best = id;
  }
  return best;
}

/** The smallest of the `count` largest logits, and how many are above it. */
function leastOf(logits: Float32Array, count: number): { threshold: number; above: number } {
  const largest: number[] = []; // descending
  for (let id = 0; id < logits.length; id++) {
    const logit = logits[id]!;
    if (largest.length === count && logit <= largest[count - 1]!) continue;
    let at = largest.length === count ? count - 1 : largest.length;
    for (; at > 0 && largest[at - 1]! < logit; at--) largest[at] = largest[at - 1]!;
    largest[at] = logit;
  }
  const threshold = largest[count - 1]!;
  return { threshold, above: largest.findIndex((logit) => logit === threshold) };
}

function nucleus(candidates: readonly { id: number; weight: number }[], topP: number) {
  const sorted = candidates.toSorted((a, b) => b.weight - a.weight || a.id - b.id);
  const wanted = topP * sorted.reduce((sum, { weight }) => sum + weight, 0);
  let [sum, count] = [0, 0];
  while (count < sorted.length && sum < wanted) sum += sorted[count++]!.weight;
  return sorted.slice(0, count);
}
