/**
 * The value of a miner's payload, as a share of its pay: the fall of the held-out loss when its payload alone replaces
 * one stage of the round's start (leave-one-in evaluation).
 *
 * Only better training raises it, so it needs no honest majority. It is the cheapest value that Shapley's axioms
 * average (cf. Ghorbani & Zou, arXiv 1904.02868). Statistics never ban.
 */

import type { NodeId } from "../ids.ts";
import { lowerMedian } from "../lower_median.ts";

/** Honest replicas reached 0.54 of the others' gain or more, where gains could be compared (tests/lab/LOG.md). */
const fullShare = 1 / 4;

/** Share of the pay per round: bad luck is over after eight rounds, and a miner without gain is evaluated again. */
export const shareRecovery = 1 / 8;

/**
 * Least significant gain of the others, in nats times the root of the evaluated tokens: 0.13 on 128 tokens, where
 * chance added 0.02 (tests/lab/LOG.md).
 */
const leastGain = 1.5;

/**
 * Shares in [0, 1], in the order of `losses`: held-out, with one miner's parameters each, Infinity if non-finite.
 * `base`: the loss without any. `tokens`: behind each mean. Null: no significant gain.
 */
export function payloadQualities(
  { base, losses, tokens }: { base: number; losses: readonly number[]; tokens: number },
): (number | null)[] {
  const gains = losses.map((loss) => base - loss);
  const least = leastGain / Math.sqrt(tokens);
  return gains.map((gain, i) => {
    const usual = lowerMedian(gains.filter((_, j) => j !== i)) ?? 0;
    if (!(usual >= least)) return gain >= least ? 1 : null;
    return Math.max(0, Math.min(1, gain / (fullShare * usual)));
  });
}

/**
 * Miners not in `qualities` are paid in full. An inconclusive evaluation changes nothing, so that bad payloads do not
 * regain full pay.
 */
export function noteQualities(
  qualities: Map<NodeId, number>,
  { miners, shares }: { miners: readonly NodeId[]; shares: readonly (number | null)[] },
): void {
  for (const [i, miner] of miners.entries()) {
    const share = shares[i] ?? null;
    if (share === null) continue;
    if (share < 1) qualities.set(miner, share);
    else qualities.delete(miner);
  }
}

/** After each reported round. */
export function recoverQualities(qualities: Map<NodeId, number>, recovery: number): void {
  for (const [miner, share] of [...qualities]) {
    if (share + recovery < 1) qualities.set(miner, share + recovery);
    else qualities.delete(miner);
  }
}
