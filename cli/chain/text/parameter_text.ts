/** A subnet's rules and its position between two epochs, as text and as fields. */

import type { EpochState, SubnetParameters } from "../../../chain/chain.ts";
import { epochIndex, nextEpochBlock } from "../../../chain/epochs/epochs.ts";
import type { Paint } from "../../terminal/text/paint.ts";
import { duration, plural, tokens } from "../../terminal/text/format.ts";
import { blocksText, inBlocks, namedLines } from "./chain_words.ts";

interface Subnet {
  readonly netuid: number;
  readonly parameters: SubnetParameters;
  readonly epoch: EpochState;
  readonly neurons: number;
  readonly isStarted: boolean;
}

const u16Max = 0xffff;
const timelockedVersion = 4;

export type WeightsMode = "plain" | "salted" | "timelocked";

export function weightsModeOf({ isCommitReveal, commitRevealVersion }: SubnetParameters): WeightsMode {
  if (!isCommitReveal) return "plain";
  return commitRevealVersion >= timelockedVersion ? "timelocked" : "salted";
}

export function parameterFields({ netuid, parameters, epoch, neurons, isStarted }: Subnet) {
  const next = nextEpochBlock(epoch);
  const blocks = next === null ? null : next - epoch.block;
  const { weightsVersionKey, stakeThresholdRao, registrationCostRao, ...plain } = parameters;
  return {
    netuid,
    ...plain,
    weightsMode: weightsModeOf(parameters),
    weightsVersionKey: String(weightsVersionKey),
    stakeThresholdRao: String(stakeThresholdRao),
    registrationCostRao: String(registrationCostRao),
    ...{ neurons, isStarted },
    epochFormula: epoch.formula,
    epochIndex: epochIndex(epoch),
    nextEpochBlock: next,
    blocksToEpoch: blocks,
    epochInMs: blocks === null ? null : blocks * parameters.blockMs,
  };
}

export function parameterText({ netuid, parameters: of, epoch, neurons, isStarted }: Subnet, paint: Paint): string[] {
  const next = nextEpochBlock(epoch);
  const nextText = next === null
    ? "none runs: the tempo is 0"
    : `${inBlocks(next - epoch.block, of.blockMs)}, at block ${next}`;
  const limit = of.maxWeightsLimit >= u16Max
    ? "no limit"
    : `${(of.maxWeightsLimit / u16Max * 100).toFixed(2)} % of all`;
  const cost = of.isRegistrationAllowed ? `${tokens(of.registrationCostRao)} TAO, burned` : "closed";
  const rows: readonly (readonly [string, string])[] = [
    ["next epoch", nextText],
    ["tempo", blocksText(of.tempoBlocks, of.blockMs)],
    ["weights", modeText(of)],
    ["consensus", of.consensus === "yuma" ? "Yuma" : "Null: only the weights of the hotkey with the most stake count"],
    ["rate limit", `${plural(of.weightsRateLimitBlocks, "block")} between weights`],
    ["weights in a row", `at least ${of.minAllowedWeights}, the largest: ${limit}`],
    ["version key", String(of.weightsVersionKey)],
    ["stake to set them", of.stakeThresholdRao === 0n ? "any" : `at least ${tokens(of.stakeThresholdRao)}`],
    ["activity cutoff", `${blocksText(of.activityCutoffBlocks, of.blockMs)} without weights`],
    ["registration", cost],
    ["stake", isStarted ? "accepted" : "not yet: the owner has not started the subnet"],
    ["immunity", blocksText(of.immunityPeriodBlocks, of.blockMs)],
    ["axon", `${plural(of.servingRateLimitBlocks, "block")} between announcements`],
    ["neurons", `${neurons} of ${of.maxUids}, validators at most ${of.maxValidators}`],
    ["mechanisms", String(of.mechanisms)],
    ["chain", `block ${epoch.block}, one every ${duration(of.blockMs)}, runtime ${of.specVersion}`],
  ];
  return [paint.bold(`Subnet ${netuid}`), ...namedLines(rows, paint.dim).map((line) => `  ${line}`)];
}

function modeText(of: SubnetParameters): string {
  const after = `${plural(of.revealPeriodEpochs, "epoch")} later`;
  switch (weightsModeOf(of)) {
    case "plain":
      return "set openly";
    case "timelocked":
      return `committed under a timelock, opened ${after}`;
    case "salted":
      return `committed by salt, revealed ${after} by their sender`;
  }
}
