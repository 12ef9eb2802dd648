/** The runtime's metagraph structs (spec 393). Unused fields: price 1, empty pools. */

import { storageIndex } from "../../weights/salted_commit.ts";
import { neuronsOf } from "../state/neurons.ts";
import { keyOf } from "../state/records.ts";
import type { ReadableChain } from "./readable_chain.ts";
import { axonInfo, bytesOf } from "./storage_items.ts";

const one = 1n << 32n; // fixed point
const u64Max = (1n << 64n) - 1n;
const letters = (text: string): number[] => [...new TextEncoder().encode(text)];

export function metagraph(ledger: ReadableChain, netuid: number, mechanism = 0) {
  const { state } = ledger;
  const subnet = state.read("subnet", keyOf(netuid));
  if (subnet === undefined || mechanism >= subnet.hyperparameters.mechanisms) return null;
  const neurons = neuronsOf(state, netuid);
  const index = storageIndex({ netuid, mechanism });
  const seats = neurons.map((_, uid) => state.get("seat", keyOf(index, uid)));
  const stakes = neurons.map(({ hotkey }) => state.read("stake", keyOf(netuid, hotkey)) ?? 0n);
  const zeros = neurons.map(() => 0);
  return {
    ...subnetFields(ledger, netuid),
    hotkeys: neurons.map(({ hotkey }) => bytesOf(hotkey)),
    coldkeys: neurons.map(({ hotkey }) => bytesOf(state.get("hotkey", hotkey).coldkey)),
    identities: neurons.map(() => null),
    axons: neurons.map(({ axon }) => axonInfo(axon)),
    active: neurons.map(({ isActive }) => isActive),
    validatorPermit: neurons.map(({ hasPermit }) => hasPermit),
    pruningScore: zeros,
    lastUpdate: seats.map(({ lastUpdateBlock }) => BigInt(lastUpdateBlock)),
    emission: neurons.map(({ emissionRao }) => emissionRao),
    dividends: neurons.map(({ dividends }) => dividends),
    incentives: seats.map(({ incentive }) => incentive),
    consensus: neurons.map(({ consensus }) => consensus),
    trust: zeros,
    rank: zeros,
    blockAtRegistration: neurons.map(({ registeredAtBlock }) => BigInt(registeredAtBlock)),
    alphaStake: stakes,
    taoStake: neurons.map(() => 0n),
    totalStake: stakes,
    taoDividendsPerHotkey: [],
    alphaDividendsPerHotkey: [],
  };
}

function subnetFields(chain: ReadableChain, netuid: number) {
  const { state } = chain;
  const subnet = state.get("subnet", keyOf(netuid));
  const clock = state.get("clock", keyOf(netuid));
  const pots = state.get("pots", keyOf(netuid));
  const of = subnet.hyperparameters;
  return {
    netuid,
    name: letters("local"),
    symbol: letters("L"),
    identity: null,
    networkRegisteredAt: BigInt(subnet.registeredAtBlock),
    ownerHotkey: bytesOf(subnet.ownerHotkey),
    ownerColdkey: bytesOf(subnet.ownerColdkey),
    block: BigInt(chain.head().number),
    tempo: of.tempoBlocks,
    lastStep: BigInt(clock.lastStepBlock),
    blocksSinceLastStep: BigInt(clock.blocksSinceLastStep),
    subnetEmission: 0n,
    ...{ alphaIn: 0n, alphaOut: 0n, taoIn: 0n },
    alphaOutEmission: of.emissionPerBlockRao,
    ...{ alphaInEmission: 0n, taoInEmission: 0n },
    pendingAlphaEmission: pots.minersRao + pots.validatorsRao,
    pendingRootEmission: 0n,
    subnetVolume: 0n,
    movingPrice: { bits: one },
    rho: 10,
    kappa: of.kappa,
    minAllowedWeights: of.minAllowedWeights,
    maxWeightsLimit: of.maxWeightsLimit,
    weightsVersion: of.weightsVersionKey,
    weightsRateLimit: BigInt(of.weightsRateLimitBlocks),
    activityCutoff: of.activityCutoffBlocks,
    maxValidators: of.maxValidators,
    numUids: subnet.neuronCount,
    maxUids: of.maxUids,
    burn: clock.burnRao,
    difficulty: u64Max,
    registrationAllowed: of.isRegistrationAllowed,
    powRegistrationAllowed: false,
    immunityPeriod: of.immunityPeriodBlocks,
    ...{ minDifficulty: u64Max, maxDifficulty: u64Max },
    minBurn: of.minBurnRao,
    maxBurn: of.maxBurnRao,
    ...{ adjustmentAlpha: 0n, adjustmentInterval: 100, targetRegsPerInterval: 2, maxRegsPerBlock: 1 },
    servingRateLimit: BigInt(of.servingRateLimitBlocks),
    commitRevealWeightsEnabled: of.isCommitReveal,
    commitRevealPeriod: BigInt(of.revealPeriodEpochs),
    ...{ liquidAlphaEnabled: false, alphaHigh: 58_982, alphaLow: 45_875 },
    bondsMovingAvg: BigInt(of.bondsMovingAverage),
  };
}

/** `indexes`: positions in the struct; other fields are null. */
export function selectiveMetagraph(ledger: ReadableChain, netuid: number, indexes: readonly number[]) {
  const all = metagraph(ledger, netuid);
  if (all === null) return null;
  const validators = all.validatorPermit.flatMap((hasPermit, uid) => hasPermit ? [uid] : []);
  const fields = Object.entries({ ...all, validators, commitments: [] });
  return Object.fromEntries(
    fields.map(([name, value], i) => [name, name === "netuid" || indexes.includes(i) ? value : null]),
  );
}
