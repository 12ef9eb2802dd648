/** The configured limits of a round's length; core/update/interval.ts measures it. */

import type { TrainConfig } from "./config.ts";
import { mergeShareDefault, mostStepsDefault } from "./knobs.ts";

type RoundSettings = Pick<TrainConfig, "stepsPerRound" | "mergeShare" | "mostStepsPerRound">;

export const isMeasured = ({ stepsPerRound }: RoundSettings): boolean => stepsPerRound === 0;
export const mergeShareOf = ({ mergeShare = mergeShareDefault }: RoundSettings): number => mergeShare;

export function longestRound({ stepsPerRound, mostStepsPerRound = mostStepsDefault }: RoundSettings): number {
  return stepsPerRound === 0 ? mostStepsPerRound : stepsPerRound;
}
