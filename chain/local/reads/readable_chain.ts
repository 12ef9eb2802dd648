/** The input for the answers under chain/local/reads: the state after one block, and further facts. */

import type { Genesis } from "../block/genesis.ts";
import type { Ledger, LocalBlock } from "../block/ledger.ts";
import type { OwnBeacon } from "../block/own_beacon.ts";
import type { StateReader } from "../state/state.ts";
import type { EpochState, SubnetParameters } from "../../chain.ts";
import { addressOf, keyOf } from "../state/records.ts";

export interface ReadableChain extends Pick<Ledger, "blockHash"> {
  readonly state: StateReader;
  readonly genesis: Genesis;
  readonly beacon: OwnBeacon;
  head(): Pick<LocalBlock, "number" | "timestampMs">;
}

export function epochStateOf(chain: ReadableChain, netuid: number): EpochState {
  const { state, genesis } = chain;
  const { tempoBlocks } = state.get("subnet", keyOf(netuid)).hyperparameters;
  const block = chain.head().number;
  const { lastEpochBlock, pendingEpochAtBlock, epochIndex, blocksSinceLastStep } = state.get("clock", keyOf(netuid));
  const common = { block, netuid, tempoBlocks, blocksSinceLastStep };
  if (genesis.epochs === "legacy") return { formula: "legacy", ...common };
  return { formula: "stateful", ...common, lastEpochBlock, pendingEpochAtBlock, epochIndex };
}

export function parametersOf(chain: ReadableChain, netuid: number): SubnetParameters {
  const { state, genesis } = chain;
  const subnet = state.get("subnet", keyOf(netuid));
  const of = subnet.hyperparameters;
  return {
    block: chain.head().number,
    tempoBlocks: of.tempoBlocks,
    minAllowedWeights: of.minAllowedWeights,
    maxWeightsLimit: of.maxWeightsLimit,
    weightsVersionKey: of.weightsVersionKey,
    weightsRateLimitBlocks: of.weightsRateLimitBlocks,
    isCommitReveal: of.isCommitReveal,
    commitRevealVersion: genesis.commitRevealVersion,
    revealPeriodEpochs: of.revealPeriodEpochs,
    mechanisms: of.mechanisms,
    stakeThresholdRao: genesis.stakeThresholdRao,
    servingRateLimitBlocks: of.servingRateLimitBlocks,
    activityCutoffBlocks: of.activityCutoffBlocks,
    immunityPeriodBlocks: of.immunityPeriodBlocks,
    isRegistrationAllowed: of.isRegistrationAllowed,
    registrationCostRao: state.get("clock", keyOf(netuid)).burnRao,
    maxUids: of.maxUids,
    maxValidators: of.maxValidators,
    ownerHotkey: addressOf(subnet.ownerHotkey),
    ownerColdkey: addressOf(subnet.ownerColdkey),
    blockMs: genesis.blockMs,
    specVersion: genesis.specVersion,
    consensus: "yuma",
  };
}
