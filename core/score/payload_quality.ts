/**
 * What a miner's payload is worth, by what its parameters do to the held-out loss: a share of its pay.
 *
 * A round's start with one stage replaced by what one miner's payload leads to is evaluated on held-out text. The gain is by how
 * much the loss falls. Nobody can make it larger than the truth but by training better, so it is compared with the gains of the
 * stage's other replicas without a majority having to be honest: leave-one-in, the cheapest of the values that Shapley's axioms
 * average (cf. Ghorbani & Zou, arXiv 1904.02868). Statistics never expel.
 */

import type { NodeId } from "../ids.ts";
import { lowerMedian } from "../lower_median.ts";

/** Honest replicas reached 0.54 or more of the others' gain where it is worth comparing (tests/lab/LOG.md). */
const fullShare = 1 / 4;

/** Of the pay, with each round: what chance took away is back after eight, and who goes on gaining nothing is tried again. */
export const shareRecovery = 1 / 8;

/**
 * The least gain of the others that says anything, in nats, times the root of the evaluated tokens. On 128 tokens that is 0.13;
 * chance added up to 0.02 there (tests/lab/LOG.md).
 */
const leastGain = 1.5;

/**
 * Shares in [0, 1], in the order of `losses`: held-out losses with one miner's parameters each, Infinity if they are not finite.
 * `base`: the loss without any of them; `tokens`: that each is the mean of. Null: neither it nor the others gain what says anything.
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
 * Notes the shares of miners whose payloads have just been tried; a miner that is not in `qualities` is paid in full. A trial that
 * says nothing changes nothing: who went on with bad payloads where they cannot be told would be paid in full again.
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

/** A round has been reported. */
export function recoverQualities(qualities: Map<NodeId, number>, recovery: number): void {
  for (const [miner, share] of [...qualities]) {
    if (share + recovery < 1) qualities.set(miner, share + recovery);
    else qualities.delete(miner);
  }
}
