/** The runtime APIs that a subnet node calls; undefined for others. */

import { nextEpochBlock } from "../../epochs/epochs.ts";
import { networkCostRao } from "../calls/registration.ts";
import { keyOf } from "../state/records.ts";
import type { AccountId } from "../block/ledger.ts";
import {
  allDynamicInfo,
  alphaPriceRao,
  alphaPrices,
  dynamicInfo,
  netuidsOf,
  neuronAnswers,
  stakeOf,
  stakesOf,
  subnetInfo,
  subnetState,
  swapped,
} from "./subnet_answers.ts";
import { metagraph, selectiveMetagraph } from "./metagraph_answer.ts";
import { epochStateOf, type ReadableChain } from "./readable_chain.ts";

export function runtimeApiAnswer(ledger: ReadableChain, name: string, args: readonly unknown[]): unknown {
  const [netuid, second, third] = args; // stakes have accounts first
  switch (name) {
    case "SubnetInfoRuntimeApi.get_metagraph":
      return metagraph(ledger, Number(netuid));
    case "SubnetInfoRuntimeApi.get_mechagraph":
      return metagraph(ledger, Number(netuid), Number(second));
    case "SubnetInfoRuntimeApi.get_selective_metagraph":
      return selectiveMetagraph(ledger, Number(netuid), indexesOf(second));
    case "SubnetInfoRuntimeApi.get_selective_mechagraph":
      return selectiveMetagraph(ledger, Number(netuid), indexesOf(third));
    case "SubnetInfoRuntimeApi.get_subnet_info":
    case "SubnetInfoRuntimeApi.get_subnet_info_v2":
      return subnetInfo(ledger, Number(netuid));
    case "SubnetInfoRuntimeApi.get_subnets_info":
    case "SubnetInfoRuntimeApi.get_subnets_info_v2":
      return netuidsOf(ledger).map((each) => subnetInfo(ledger, each));
    case "SubnetInfoRuntimeApi.get_subnet_hyperparams": // fewer fields
    case "SubnetInfoRuntimeApi.get_subnet_hyperparams_v2":
      return hyperparameters(ledger, Number(netuid));
    case "SubnetInfoRuntimeApi.get_subnet_hyperparams_v3":
      return hyperparameterEntries(ledger, Number(netuid));
    case "SubnetInfoRuntimeApi.get_next_epoch_start_block":
      return nextEpochStart(ledger, Number(netuid));
    case "NeuronInfoRuntimeApi.get_neurons":
    case "NeuronInfoRuntimeApi.get_neurons_lite": // without rows
      return neuronAnswers(ledger, Number(netuid));
    case "NeuronInfoRuntimeApi.get_neuron":
    case "NeuronInfoRuntimeApi.get_neuron_lite":
      return neuronAnswers(ledger, Number(netuid))[Number(second)] ?? null;
    case "SubnetInfoRuntimeApi.get_subnet_state":
      return subnetState(ledger, Number(netuid));
    case "SubnetInfoRuntimeApi.get_dynamic_info":
      return dynamicInfo(ledger, Number(netuid));
    case "SubnetInfoRuntimeApi.get_all_dynamic_info":
      return allDynamicInfo(ledger);
    case "StakeInfoRuntimeApi.get_stake_info_for_coldkey":
      return stakesOf(ledger, netuid as AccountId);
    case "StakeInfoRuntimeApi.get_stake_info_for_hotkey_coldkey_netuid":
      return stakeOf(ledger, { hotkey: netuid as AccountId, coldkey: second as AccountId, netuid: Number(third) });
    case "StakeInfoRuntimeApi.get_stake_fee":
      return 0n; // no market, no fee
    case "SubnetRegistrationRuntimeApi.get_network_registration_cost":
      return networkCostRao({ state: ledger.state, genesis: ledger.genesis, block: ledger.head().number });
    case "SwapRuntimeApi.current_alpha_price":
      return alphaPriceRao;
    case "SwapRuntimeApi.current_alpha_price_all":
      return alphaPrices(ledger);
    case "SwapRuntimeApi.sim_swap_tao_for_alpha":
    case "SwapRuntimeApi.sim_swap_alpha_for_tao":
      return swapped(BigInt(second as bigint));
    default:
      return undefined;
  }
}

const indexesOf = (list: unknown): number[] => Array.isArray(list) ? list.map(Number) : [];

function hyperparameters(ledger: ReadableChain, netuid: number) {
  const all = metagraph(ledger, netuid);
  if (all === null) return null;
  const of = ledger.state.get("subnet", keyOf(netuid)).hyperparameters;
  return {
    ...{ rho: all.rho, kappa: all.kappa, immunityPeriod: all.immunityPeriod, minAllowedWeights: of.minAllowedWeights },
    ...{ maxWeightsLimit: of.maxWeightsLimit, tempo: of.tempoBlocks },
    ...{ minDifficulty: all.minDifficulty, maxDifficulty: all.maxDifficulty },
    weightsVersion: of.weightsVersionKey,
    weightsRateLimit: all.weightsRateLimit,
    adjustmentInterval: all.adjustmentInterval,
    activityCutoff: of.activityCutoffBlocks,
    registrationAllowed: of.isRegistrationAllowed,
    targetRegsPerInterval: all.targetRegsPerInterval,
    ...{ minBurn: of.minBurnRao, maxBurn: of.maxBurnRao, bondsMovingAvg: all.bondsMovingAvg },
    maxRegsPerBlock: all.maxRegsPerBlock,
    servingRateLimit: all.servingRateLimit,
    maxValidators: of.maxValidators,
    ...{ adjustmentAlpha: all.adjustmentAlpha, difficulty: all.difficulty },
    commitRevealPeriod: all.commitRevealPeriod,
    commitRevealWeightsEnabled: of.isCommitReveal,
    ...{ alphaHigh: all.alphaHigh, alphaLow: all.alphaLow, liquidAlphaEnabled: false },
    alphaSigmoidSteepness: { bits: 1000n << 32n },
    yumaVersion: 2,
    ...{
      subnetIsActive: of.isStarted !== false,
      transfersEnabled: true,
      bondsResetEnabled: false,
      userLiquidityEnabled: false,
    },
  };
}

/** Names and tagged values, for newer clients. */
function hyperparameterEntries(ledger: ReadableChain, netuid: number) {
  const of = ledger.state.read("subnet", keyOf(netuid))?.hyperparameters;
  if (of === undefined) return null;
  const entry = (name: string, type: "Bool" | "U16" | "U64", value: unknown) => ({
    name: new TextEncoder().encode(name),
    value: { type, value },
  });
  return [
    entry("kappa", "U16", of.kappa),
    entry("immunity_period", "U16", of.immunityPeriodBlocks),
    entry("min_allowed_weights", "U16", of.minAllowedWeights),
    entry("max_weights_limit", "U16", of.maxWeightsLimit),
    entry("tempo", "U16", of.tempoBlocks),
    entry("weights_version", "U64", of.weightsVersionKey),
    entry("weights_rate_limit", "U64", BigInt(of.weightsRateLimitBlocks)),
    entry("activity_cutoff", "U16", of.activityCutoffBlocks),
    entry("registration_allowed", "Bool", of.isRegistrationAllowed),
    entry("min_burn", "U64", of.minBurnRao),
    entry("max_burn", "U64", of.maxBurnRao),
    entry("burn_half_life", "U16", of.burnHalfLifeBlocks),
    entry("bonds_moving_avg", "U64", BigInt(of.bondsMovingAverage)),
    entry("serving_rate_limit", "U64", BigInt(of.servingRateLimitBlocks)),
    entry("max_validators", "U16", of.maxValidators),
    entry("commit_reveal_period", "U64", BigInt(of.revealPeriodEpochs)),
    entry("commit_reveal_weights_enabled", "Bool", of.isCommitReveal),
  ];
}

function nextEpochStart(ledger: ReadableChain, netuid: number): bigint | null {
  if (ledger.state.read("subnet", keyOf(netuid)) === undefined) return null;
  const block = nextEpochBlock(epochStateOf(ledger, netuid));
  return block === null ? null : BigInt(block);
}
