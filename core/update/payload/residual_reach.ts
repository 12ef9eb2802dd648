/**
 * The update-norm bound of a payload: the summed learning rates of the steps that it can hold. With a residual it also
 * holds what earlier payloads left out, far more than a short or decayed round's own steps.
 */

import type { RunConfig } from "../../config/config.ts";
import { longestRound } from "../../config/round_length.ts";
import { payloadCodecOf } from "./payload_codecs.ts";

interface Rates {
  readonly config: RunConfig;
  readonly roundRates: number; // open round
  readonly carriedRates: number; // earlier rounds, decaying
}

/** The share of a residual that the next payload holds: `mostRounds` rounds' worth over all rounds. */
const keptShare = (config: RunConfig): number => 1 - 1 / payloadCodecOf(config).mostRounds;

/** The larger of the open round and a usual one that the residual remembers. Never zero. */
export function reachOf({ config, roundRates, carriedRates }: Rates): number {
  const remembered = (roundRates + carriedRates) / payloadCodecOf(config).mostRounds;
  return Math.max(Number.MIN_VALUE, roundRates, remembered);
}

export function carriedOn({ config, roundRates, carriedRates }: Rates): number {
  return keptShare(config) * (roundRates + carriedRates);
}

/** After a checkpoint, whose miners may hold residuals: as if all earlier rounds had been usual. */
export function rememberedRates(config: RunConfig): number {
  const { train } = config;
  return (payloadCodecOf(config).mostRounds - 1) * longestRound(train) * train.learningRate;
}
