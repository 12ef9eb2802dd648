/** What a configuration says of a round's length; how it is measured: core/merge/interval.ts. */

import type { TrainConfig } from "./config.ts";

type RoundSettings = Pick<TrainConfig, "stepsPerRound" | "mergeShare" | "mostStepsPerRound">;

export const mergeShareDefault = 0.1;
export const mostStepsDefault = 30;

export const isMeasured = ({ stepsPerRound }: RoundSettings): boolean => stepsPerRound === 0;
export const mergeShareOf = ({ mergeShare = mergeShareDefault }: RoundSettings): number => mergeShare;

/** Steps of the longest possible round. */
export function longestRound({ stepsPerRound, mostStepsPerRound = mostStepsDefault }: RoundSettings): number {
  return stepsPerRound === 0 ? mostStepsPerRound : stepsPerRound;
}
