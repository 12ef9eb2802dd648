/**
 * The initial state of an embedded chain: its rules, its first subnet and its first accounts, with the runtime's own
 * defaults beside ours. A chain keeps its genesis: a different one needs another store.
 */

import type { Address } from "../../call.ts";

/** Of one subnet; fields are named as in `SubnetParameters`. */
export interface Hyperparameters {
  readonly tempoBlocks: number;
  readonly minAllowedWeights: number;
  readonly maxWeightsLimit: number; // u16; 65535: no limit
  readonly weightsVersionKey: bigint;
  readonly weightsRateLimitBlocks: number;
  readonly isCommitReveal: boolean;
  readonly revealPeriodEpochs: number;
  readonly mechanisms: number;
  readonly servingRateLimitBlocks: number;
  readonly activityCutoffBlocks: number;
  readonly immunityPeriodBlocks: number;
  readonly isRegistrationAllowed: boolean;
  readonly isStarted?: boolean; // by its owner; absent: yes. Until then it accepts no stake
  readonly maxUids: number;
  readonly maxValidators: number;
  readonly minNonImmuneUids: number; // this many are never pruned, so that not only newcomers remain
  readonly firstBurnRao: bigint; // of the first registration
  readonly minBurnRao: bigint;
  readonly maxBurnRao: bigint;
  readonly burnHalfLifeBlocks: number; // 0: the price stays
  readonly burnIncreasePercent: number; // of a registration
  readonly kappa: number; // u16 share of stake that is a majority
  readonly bondsMovingAverage: number; // millionths
  readonly bondsPenalty: number; // u16
  readonly emissionPerBlockRao: bigint;
}

export interface GenesisSubnet {
  readonly netuid: number;
  readonly ownerColdkey: Address;
  readonly ownerHotkey: Address; // registered at genesis as uid 0
  readonly hyperparameters: Hyperparameters;
}

export interface Genesis {
  readonly specVersion: number; // the runtime whose rules these are
  readonly epochs: "legacy" | "stateful"; // stateful since 423
  readonly preChecks: "pool" | "block"; // until 416 some checks refuse a submission with a custom code
  readonly blockMs: number; // intended block time; the caller of produceBlock maintains it
  readonly startMs: number; // timestamp of block 0
  readonly feeRao: bigint; // of a call that is not free
  readonly stakeThresholdRao: bigint; // minimum for setting weights
  readonly commitRevealVersion: number;
  readonly networkRateLimitBlocks: number; // between two registerNetwork
  readonly networkMinLockRao: bigint;
  readonly networkLockReductionBlocks: number; // in which a doubled lock falls to its old value
  readonly maxSubnets: number;
  // Seed: any text. Timelocked weights need epochs of several periods; a chain with faster ones needs a faster beacon.
  readonly beacon: { readonly seed: string; readonly genesisMs: number; readonly periodMs: number };
  readonly accounts: readonly { readonly address: Address; readonly freeRao: bigint }[];
  readonly subnets: readonly GenesisSubnet[];
  readonly newSubnet: Hyperparameters; // of subnets registered later
}

export const raoPerToken = 1_000_000_000n;

/** The well-known development accounts //Alice and //Bob, whose keys are public. */
export const aliceAddress: Address = "5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY";
export const bobAddress: Address = "5FHneW46xGXgs5mUiveU4sbTyGBzmstUspZC92UhjJM694ty";

const runtimeHyperparameters: Hyperparameters = {
  tempoBlocks: 360,
  minAllowedWeights: 1,
  maxWeightsLimit: 65_535,
  weightsVersionKey: 0n,
  weightsRateLimitBlocks: 100,
  isCommitReveal: true,
  revealPeriodEpochs: 1,
  mechanisms: 1,
  servingRateLimitBlocks: 50,
  activityCutoffBlocks: 5_000,
  immunityPeriodBlocks: 4_096,
  isRegistrationAllowed: true,
  maxUids: 256,
  maxValidators: 64,
  minNonImmuneUids: 10,
  firstBurnRao: raoPerToken / 10n,
  minBurnRao: 500_000n,
  maxBurnRao: 100n * raoPerToken,
  burnHalfLifeBlocks: 360,
  burnIncreasePercent: 26,
  kappa: 32_767,
  bondsMovingAverage: 900_000,
  bondsPenalty: 65_535,
  emissionPerBlockRao: raoPerToken,
};

/** Short rate limits, no commit-reveal, room for every node. */
const localHyperparameters: Hyperparameters = {
  ...runtimeHyperparameters,
  tempoBlocks: 20,
  weightsRateLimitBlocks: 5,
  isCommitReveal: false,
  servingRateLimitBlocks: 5,
  immunityPeriodBlocks: 100,
  minNonImmuneUids: 0,
};

export interface GenesisOptions extends Partial<Omit<Genesis, "subnets" | "newSubnet">> {
  readonly netuid?: number; // default 9
  readonly ownerColdkey?: Address; // default //Alice, also for the next one
  readonly ownerHotkey?: Address;
  readonly hyperparameters?: Partial<Hyperparameters>;
}

export const localGenesis = (options: GenesisOptions = {}): Genesis =>
  genesisOf(options, {
    hyperparameters: localHyperparameters,
    blockMs: 1_000,
    feeRao: 0n,
    networkRateLimitBlocks: 0,
    networkMinLockRao: raoPerToken,
    endowmentRao: 1_000_000n * raoPerToken,
  });

export const mainnetGenesis = (options: GenesisOptions = {}): Genesis =>
  genesisOf(options, {
    hyperparameters: runtimeHyperparameters,
    blockMs: 12_000,
    feeRao: 125_000n,
    networkRateLimitBlocks: 7_200,
    networkMinLockRao: 1_000n * raoPerToken,
    endowmentRao: 10_000n * raoPerToken,
  });

interface Preset extends Pick<Genesis, "blockMs" | "feeRao" | "networkRateLimitBlocks" | "networkMinLockRao"> {
  readonly hyperparameters: Hyperparameters;
  readonly endowmentRao: bigint;
}

function genesisOf(options: GenesisOptions, preset: Preset): Genesis {
  const { netuid = 9, ownerColdkey = aliceAddress, ownerHotkey = aliceAddress, ...overrides } = options;
  const { hyperparameters: chosen, ...chain } = overrides;
  const { hyperparameters: usual, endowmentRao, ...presetChain } = preset;
  const hyperparameters = { ...usual, ...chosen };
  const isLegacy = chain.epochs === "legacy";
  return {
    specVersion: isLegacy ? 393 : 425,
    epochs: "stateful",
    preChecks: isLegacy ? "pool" : "block",
    startMs: 1_735_689_600_000, // 2025-01-01: any moment after the beacon's genesis
    stakeThresholdRao: 0n,
    commitRevealVersion: 4,
    networkLockReductionBlocks: 14 * 7_200,
    maxSubnets: 128,
    beacon: { seed: "iota local beacon", genesisMs: 1_692_803_367_000, periodMs: 3_000 }, // quicknet's rounds
    accounts: [aliceAddress, bobAddress].map((address) => ({ address, freeRao: endowmentRao })),
    ...presetChain,
    ...chain,
    subnets: [{ netuid, ownerColdkey, ownerHotkey, hyperparameters }],
    newSubnet: hyperparameters,
  };
}
