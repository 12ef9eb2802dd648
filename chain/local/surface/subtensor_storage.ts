/**
 * The subnet pallet's storage that clients read, without the share pools behind stakes. The third column is a missing
 * entry's value, little-endian. `netuid` maps take a u16; `index` is mechanism * 4096 + netuid. Timelocked commits are
 * by epoch: hotkey, block, commit, round. Salted ones: hash, block, first and last reveal block.
 */

import { blake2, identity, type StorageItem, stored, twox } from "./description.ts";

const netuid = identity("u16");
const index = identity("u16");
const uid = identity("u16");

const wholeNetwork: readonly StorageItem[] = [
  stored("TotalNetworks", [], "u16"),
  stored("SubnetLimit", [], "u16", "0x8000"),
  stored("TotalIssuance", [], "u64"),
  stored("TotalStake", [], "u64"),
  stored("NetworkMinLockCost", [], "u64", "0x0010a5d4e8000000"),
  stored("NetworkLastLockCost", [], "u64", "0x0010a5d4e8000000"),
  stored("NetworkRateLimit", [], "u64", "0x201c000000000000"),
  stored("NetworkRegistrationStartBlock", [], "u64"),
  stored("TxRateLimit", [], "u64", "0xe803000000000000"),
  stored("StakeThreshold", [], "u64"),
  stored("CommitRevealWeightsVersion", [], "u16", "0x0400"),
  stored("MaxMechanismCount", [], "u8", "0x02"),
  stored("MinActivityCutoff", [], "u16", "0x6801"),
  stored("AdminFreezeWindow", [], "u16", "0x0a00"),
  stored("TaoWeight", [], "u64", "0xfc62e03efa3c7c0d"),
  stored("NominatorMinRequiredStake", [], "u64"),
  stored("BlockEmission", [], "u64", "0x00ca9a3b00000000"),
];

const parameters: readonly StorageItem[] = [
  stored("NetworksAdded", [netuid], "bool"),
  stored("NetworkRegisteredAt", [netuid], "u64"),
  stored("NetworkRegistrationAllowed", [netuid], "bool", "0x01"),
  stored("NetworkPowRegistrationAllowed", [netuid], "bool", "0x01"),
  stored("SubnetOwner", [netuid], "AccountId"),
  stored("SubnetOwnerHotkey", [netuid], "AccountId"),
  stored("SubnetMechanism", [netuid], "u16"),
  stored("TokenSymbol", [netuid], "Vec<u8>", "0x10f09d9c8f"),
  stored("Tempo", [netuid], "u16", "0x6801"),
  stored("MaxAllowedUids", [netuid], "u16", "0x0001"),
  stored("MinAllowedUids", [netuid], "u16", "0x4000"),
  stored("MaxAllowedValidators", [netuid], "u16", "0x8000"),
  stored("MinAllowedWeights", [netuid], "u16", "0x0004"),
  stored("MaxWeightsLimit", [netuid], "u16", "0xffff"),
  stored("WeightsVersionKey", [netuid], "u64"),
  stored("WeightsSetRateLimit", [netuid], "u64", "0x6400000000000000"),
  stored("ServingRateLimit", [netuid], "u64", "0x3200000000000000"),
  stored("ImmunityPeriod", [netuid], "u16", "0x0010"),
  stored("ActivityCutoff", [netuid], "u16", "0x8813"),
  stored("CommitRevealWeightsEnabled", [netuid], "bool", "0x01"),
  stored("RevealPeriodEpochs", [twox("u16")], "u64", "0x0100000000000000"),
  stored("MechanismCountCurrent", [twox("u16")], "u8", "0x01"),
  stored("MechanismEmissionSplit", [twox("u16")], "Vec<u16>", "none"),
  stored("Rho", [netuid], "u16", "0x0a00"),
  stored("Kappa", [netuid], "u16", "0xff7f"),
  stored("BondsMovingAverage", [netuid], "u64", "0xa0bb0d0000000000"),
  stored("BondsPenalty", [netuid], "u16", "0xffff"),
  stored("LiquidAlphaOn", [blake2("u16")], "bool"),
  stored("Yuma3On", [blake2("u16")], "bool"),
  stored("AlphaValues", [netuid], "(u16, u16)", "0x33b366e6"),
  stored("Burn", [netuid], "u64", "0x00e1f50500000000"),
  stored("MinBurn", [netuid], "u64", "0x20a1070000000000"),
  stored("MaxBurn", [netuid], "u64", "0x00e8764817000000"),
  stored("Difficulty", [netuid], "u64", "0x8096980000000000"),
  stored("AdjustmentInterval", [netuid], "u16", "0x6400"),
  stored("AdjustmentAlpha", [netuid], "u64"),
  stored("TargetRegistrationsPerInterval", [netuid], "u16", "0x0200"),
  stored("MaxRegistrationsPerBlock", [netuid], "u16", "0x0100"),
  stored("RegistrationsThisBlock", [netuid], "u16"),
  stored("RegistrationsThisInterval", [netuid], "u16"),
  stored("LastAdjustmentBlock", [netuid], "u64"),
  stored("SubtokenEnabled", [netuid], "bool"),
  stored("TransferToggle", [netuid], "bool", "0x01"),
];

const epochsAndPools: readonly StorageItem[] = [
  stored("BlocksSinceLastStep", [netuid], "u64"),
  stored("LastMechansimStepBlock", [netuid], "u64"), // [sic]
  stored("FirstEmissionBlockNumber", [netuid], "u64", "none"),
  stored("PendingServerEmission", [netuid], "u64"),
  stored("PendingValidatorEmission", [netuid], "u64"),
  stored("PendingOwnerCut", [netuid], "u64"),
  stored("SubnetTAO", [netuid], "u64"),
  stored("SubnetAlphaIn", [netuid], "u64"),
  stored("SubnetAlphaOut", [netuid], "u64"),
  stored("SubnetAlphaInEmission", [netuid], "u64"),
  stored("SubnetAlphaOutEmission", [netuid], "u64"),
  stored("SubnetTaoInEmission", [netuid], "u64"),
  stored("SubnetMovingPrice", [netuid], "FixedI128"),
  stored("SubnetVolume", [netuid], "u128"),
  stored("SubnetLocked", [netuid], "u64"),
];

const neurons: readonly StorageItem[] = [
  stored("SubnetworkN", [netuid], "u16"),
  stored("Uids", [netuid, blake2("AccountId")], "u16", "none"),
  stored("Keys", [netuid, uid], "AccountId"),
  stored("IsNetworkMember", [blake2("AccountId"), netuid], "bool"),
  stored("Axons", [netuid, blake2("AccountId")], "AxonInfo", "none"),
  stored("Prometheus", [netuid, blake2("AccountId")], "PrometheusInfo", "none"),
  stored("BlockAtRegistration", [netuid, uid], "u64"),
  stored("Active", [netuid], "Vec<bool>"),
  stored("ValidatorPermit", [netuid], "Vec<bool>"),
  stored("Emission", [netuid], "Vec<u64>"),
  stored("LastUpdate", [index], "Vec<u64>"),
  stored("Rank", [netuid], "Vec<u16>"),
  stored("Trust", [netuid], "Vec<u16>"),
  stored("Consensus", [netuid], "Vec<u16>"),
  stored("Incentive", [index], "Vec<u16>"),
  stored("Dividends", [netuid], "Vec<u16>"),
  stored("ValidatorTrust", [netuid], "Vec<u16>"),
  stored("PruningScores", [netuid], "Vec<u16>"),
];

const weights: readonly StorageItem[] = [
  stored("Weights", [index, uid], "Vec<(u16, u16)>"), // target uid, value
  stored("Bonds", [index, uid], "Vec<(u16, u16)>"),
  stored("WeightCommits", [twox("u16"), twox("AccountId")], "Vec<(H256, u64, u64, u64)>", "none"),
  stored("TimelockedWeightCommits", [twox("u16"), twox("u64")], "Vec<(AccountId, u64, Vec<u8>, u64)>"),
];

const accounts: readonly StorageItem[] = [
  stored("Owner", [blake2("AccountId")], "AccountId"), // of a hotkey
  stored("OwnedHotkeys", [blake2("AccountId")], "Vec<AccountId>"),
  stored("StakingHotkeys", [blake2("AccountId")], "Vec<AccountId>"),
  stored("Delegates", [blake2("AccountId")], "u16", "0x142e"),
  stored("TotalHotkeyAlpha", [blake2("AccountId"), netuid], "u64"),
  stored("LastTxBlock", [identity("AccountId")], "u64"),
];

export const subtensorStorage: readonly StorageItem[] = [
  ...wholeNetwork,
  ...parameters,
  ...epochsAndPools,
  ...neurons,
  ...weights,
  ...accounts,
];

export const statefulEpochStorage: readonly StorageItem[] = [
  stored("LastEpochBlock", [netuid], "u64"),
  stored("PendingEpochAt", [netuid], "u64"),
  stored("SubnetEpochIndex", [netuid], "u64"),
  stored("ActivityCutoffFactorMilli", [netuid], "u32", "0xe8030000"),
];
