/**
 * The update-norm bound of a payload: the learning rates of the steps whose progress it can hold.
 *
 * Without a residual these are the open round's. With one, a payload also holds what earlier payloads left out, a
 * little less of each earlier round. After a short round, or at the end of a decay to zero, that is far more than the
 * round's own steps can make. Rates are sums of learning rates. Out of scope: the bounds themselves
 * (core/orchestrator/merge/payloads/payload_check.ts).
 */

import type { RunConfig } from "../../config/config.ts";
import { longestRound } from "../../config/round_length.ts";
import { payloadCodecOf } from "./payload_codecs.ts";

interface Rates {
  readonly config: RunConfig;
  readonly roundRates: number; // of the open round
  readonly carriedRates: number; // of earlier rounds, less the earlier they are
}

/** The share of a residual that the next payload holds: over all rounds, `mostRounds` rounds' worth. */
const keptShare = (config: RunConfig): number => 1 - 1 / payloadCodecOf(config).mostRounds;

/** The rates of one round: the larger of the open one and a usual one that the residual remembers. Never zero. */
export function reachOf({ config, roundRates, carriedRates }: Rates): number {
  const remembered = (roundRates + carriedRates) / payloadCodecOf(config).mostRounds;
  return Math.max(Number.MIN_VALUE, roundRates, remembered);
}

/** The rates carried to the next round. */
export function carriedOn({ config, roundRates, carriedRates }: Rates): number {
  return keptShare(config) * (roundRates + carriedRates);
}

/**
 * For a run that continues from a checkpoint, whose miners may hold residuals: as if all earlier rounds had been usual
 * ones.
 */
export function rememberedRates(config: RunConfig): number {
  const { train } = config;
  return (payloadCodecOf(config).mostRounds - 1) * longestRound(train) * train.learningRate;
}
