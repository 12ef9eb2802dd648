/** A subnet's parameters in any version of the runtime. Defaults only where an entry's absence implies them. */

import * as v from "valibot";
import type { EpochState, SubnetParameters } from "../../chain.ts";
import { address, bigInteger, integer, zeroAddress } from "../connection/plain_values.ts";
import { needed, recentItem, type StateAt, subtensorItem } from "../connection/state.ts";

const oldestCommitRevealVersion = 1; // from before the version was stored

export async function readParameters(state: StateAt, netuid: number): Promise<SubnetParameters> {
  const found = await state.read(entries(netuid));
  const tempoBlocks = needed(found.tempo, "Tempo");
  return {
    block: state.block.number,
    tempoBlocks,
    minAllowedWeights: needed(found.minAllowedWeights, "MinAllowedWeights"),
    maxWeightsLimit: found.maxWeightsLimit ?? 65_535,
    weightsVersionKey: needed(found.weightsVersionKey, "WeightsVersionKey"),
    weightsRateLimitBlocks: needed(found.weightsRateLimit, "WeightsSetRateLimit"),
    isCommitReveal: needed(found.isCommitReveal, "CommitRevealWeightsEnabled"),
    commitRevealVersion: found.commitRevealVersion ?? oldestCommitRevealVersion,
    revealPeriodEpochs: found.revealPeriod ?? 1,
    mechanisms: found.mechanisms ?? 1,
    stakeThresholdRao: needed(found.stakeThreshold, "StakeThreshold"),
    servingRateLimitBlocks: needed(found.servingRateLimit, "ServingRateLimit"),
    activityCutoffBlocks: found.activityCutoffMilli !== undefined
      ? Math.floor((found.activityCutoffMilli * tempoBlocks) / 1_000)
      : needed(found.activityCutoff, "ActivityCutoff"),
    immunityPeriodBlocks: needed(found.immunityPeriod, "ImmunityPeriod"),
    isRegistrationAllowed: needed(found.isRegistrationAllowed, "NetworkRegistrationAllowed"),
    registrationCostRao: needed(found.burn, "Burn"),
    maxUids: needed(found.maxUids, "MaxAllowedUids"),
    maxValidators: needed(found.maxValidators, "MaxAllowedValidators"),
    ownerHotkey: accountOrNull(found.ownerHotkey),
    ownerColdkey: accountOrNull(found.ownerColdkey),
    blockMs: blockMs(state),
    specVersion: state.runtime.version.specVersion,
    consensus: found.consensus === "Null" ? "null" : "yuma", // absent before spec 474
  };
}

/** A missing entry means started. */
export async function readIsStarted(state: StateAt, netuid: number): Promise<boolean> {
  const { found } = await state.read({ found: subtensorItem("SubtokenEnabled", [netuid], v.boolean()) });
  return found ?? true;
}

function entries(netuid: number) {
  return {
    tempo: subtensorItem("Tempo", [netuid], integer),
    minAllowedWeights: subtensorItem("MinAllowedWeights", [netuid], integer),
    maxWeightsLimit: subtensorItem("MaxWeightsLimit", [netuid], integer),
    weightsVersionKey: subtensorItem("WeightsVersionKey", [netuid], bigInteger),
    weightsRateLimit: subtensorItem("WeightsSetRateLimit", [netuid], integer),
    isCommitReveal: subtensorItem("CommitRevealWeightsEnabled", [netuid], v.boolean()),
    commitRevealVersion: subtensorItem("CommitRevealWeightsVersion", [], integer),
    revealPeriod: subtensorItem("RevealPeriodEpochs", [netuid], integer),
    mechanisms: subtensorItem("MechanismCountCurrent", [netuid], integer),
    stakeThreshold: subtensorItem("StakeThreshold", [], bigInteger),
    servingRateLimit: subtensorItem("ServingRateLimit", [netuid], integer),
    activityCutoff: subtensorItem("ActivityCutoff", [netuid], integer),
    activityCutoffMilli: subtensorItem("ActivityCutoffFactorMilli", [netuid], integer),
    immunityPeriod: subtensorItem("ImmunityPeriod", [netuid], integer),
    isRegistrationAllowed: subtensorItem("NetworkRegistrationAllowed", [netuid], v.boolean()),
    burn: subtensorItem("Burn", [netuid], bigInteger),
    maxUids: subtensorItem("MaxAllowedUids", [netuid], integer),
    maxValidators: subtensorItem("MaxAllowedValidators", [netuid], integer),
    ownerHotkey: subtensorItem("SubnetOwnerHotkey", [netuid], address),
    ownerColdkey: subtensorItem("SubnetOwner", [netuid], address),
    consensus: subtensorItem("SubnetEpochConsensus", [netuid], v.string()),
  };
}

const accountOrNull = (found: string | undefined): string | null =>
  found === undefined || found === zeroAddress ? null : found;

/** Aura's slot, otherwise twice the minimum between two timestamps. */
function blockMs(state: StateAt): number {
  const slot = v.safeParse(integer, state.runtime.constant("Aura", "SlotDuration"));
  if (slot.success && slot.output > 0) return slot.output;
  return 2 * v.parse(integer, state.runtime.constant("Timestamp", "MinimumPeriod"));
}

export async function readEpochState(state: StateAt, netuid: number): Promise<EpochState> {
  const found = await state.read({
    tempo: subtensorItem("Tempo", [netuid], integer),
    lastEpoch: recentItem("LastEpochBlock", netuid, integer),
    pendingEpoch: recentItem("PendingEpochAt", netuid, integer),
    epochIndex: recentItem("SubnetEpochIndex", netuid, integer),
    blocksSinceLastStep: subtensorItem("BlocksSinceLastStep", [netuid], integer),
  });
  const { blocksSinceLastStep = 0 } = found;
  const common = {
    block: state.block.number,
    netuid,
    tempoBlocks: needed(found.tempo, "Tempo"),
    blocksSinceLastStep,
  };
  if (found.lastEpoch === undefined) return { formula: "legacy", ...common };
  return {
    formula: "stateful",
    ...common,
    lastEpochBlock: found.lastEpoch,
    pendingEpochAtBlock: found.pendingEpoch ?? 0,
    epochIndex: found.epochIndex ?? 0,
  };
}
