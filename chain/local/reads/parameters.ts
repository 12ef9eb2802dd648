/** A subnet's rules and prices in the roles' form. */

import type { SubnetParameters } from "../../chain.ts";
import { addressOf, keyOf } from "../state/records.ts";
import type { ReadableChain } from "./readable_chain.ts";

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
