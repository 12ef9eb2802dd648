/**
 * The value of a miner's payload by its effect on the held-out loss: a share of its pay.
 *
 * A leave-one-in evaluation replaces one stage of a round's start by the result of one miner's payload and measures the
 * held-out loss. The gain is the fall of the loss. Only better training increases it, so it is compared with the gains
 * of the stage's other replicas without requiring an honest majority. It is the cheapest of the values that Shapley's
 * axioms average (cf. Ghorbani & Zou, arXiv 1904.02868). Statistics never ban.
 */

import type { NodeId } from "../ids.ts";
import { lowerMedian } from "../lower_median.ts";

/**
 * Honest replicas reached at least 0.54 of the others' gain wherever gains were large enough to compare
 * (tests/lab/LOG.md).
 */
const fullShare = 1 / 4;

/**
 * Of the pay, per round: a loss by chance is recovered after eight, and a miner that keeps gaining nothing is evaluated
 * again.
 */
export const shareRecovery = 1 / 8;

/**
 * The least significant gain of the others, in nats, times the root of the evaluated tokens: 0.13 on 128 tokens, where
 * chance added up to 0.02 (tests/lab/LOG.md).
 */
const leastGain = 1.5;

/**
 * Shares in [0, 1], in the order of `losses`: held-out losses with one miner's parameters each, Infinity if non-finite.
 * `base`: the loss without any of them; `tokens`: of which each is the mean. Null: no significant gain.
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
 * Records the shares of miners whose payloads were just evaluated; a miner that is not in `qualities` is paid in full.
 * An inconclusive evaluation changes nothing, so that bad payloads do not regain full pay where they cannot be told
 * from good ones.
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

/** Called when a round has been reported. */
export function recoverQualities(qualities: Map<NodeId, number>, recovery: number): void {
  for (const [miner, share] of [...qualities]) {
    if (share + recovery < 1) qualities.set(miner, share + recovery);
    else qualities.delete(miner);
  }
}
