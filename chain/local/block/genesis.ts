/** The initial state of an embedded chain. Another genesis needs another store. */

import type { Address } from "../../call.ts";

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
  readonly isStarted?: boolean; // absent: yes. Before, no stake is accepted
  readonly maxUids: number;
  readonly maxValidators: number;
  readonly minNonImmuneUids: number; // never pruned, so that not only newcomers remain
  readonly firstBurnRao: bigint;
  readonly minBurnRao: bigint;
  readonly maxBurnRao: bigint;
  readonly burnHalfLifeBlocks: number; // 0: the price stays
  readonly burnIncreasePercent: number;
  readonly kappa: number; // majority, as a u16 share of stake
  readonly bondsMovingAverage: number; // millionths
  readonly bondsPenalty: number; // u16
  readonly emissionPerBlockRao: bigint;
}

interface GenesisSubnet {
  readonly netuid: number;
  readonly ownerColdkey: Address;
  readonly ownerHotkey: Address; // uid 0
  readonly hyperparameters: Hyperparameters;
}

export interface Genesis {
  readonly specVersion: number;
  readonly epochs: "legacy" | "stateful";
  readonly preChecks: "pool" | "block"; // until 416 the pool refuses with a custom code
  readonly blockMs: number; // kept by produceBlock's caller
  readonly startMs: number;
  readonly feeRao: bigint;
  readonly stakeThresholdRao: bigint; // minimum for setting weights
  readonly commitRevealVersion: number;
  readonly networkRateLimitBlocks: number;
  readonly networkMinLockRao: bigint;
  readonly networkLockReductionBlocks: number; // until a doubled lock has halved
  readonly maxSubnets: number;
  // Timelocked weights need epochs of several beacon periods.
  readonly beacon: { readonly seed: string; readonly genesisMs: number; readonly periodMs: number };
  readonly accounts: readonly { readonly address: Address; readonly freeRao: bigint }[];
  readonly subnets: readonly GenesisSubnet[];
  readonly newSubnet: Hyperparameters;
}

export const raoPerToken = 1_000_000_000n;

/** Substrate's //Alice and //Bob; their keys are public. */
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
  readonly netuid?: number;
  readonly ownerColdkey?: Address;
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
    startMs: 1_735_689_600_000, // any moment after the beacon's genesis
    stakeThresholdRao: 0n,
    commitRevealVersion: 4,
    networkLockReductionBlocks: 14 * 7_200,
    maxSubnets: 128,
    beacon: { seed: "iota local beacon", genesisMs: 1_692_803_367_000, periodMs: 3_000 },
    accounts: [aliceAddress, bobAddress].map((address) => ({ address, freeRao: endowmentRao })),
    ...presetChain,
    ...chain,
    subnets: [{ netuid, ownerColdkey, ownerHotkey, hyperparameters }],
    newSubnet: hyperparameters,
  };
}
