/**
 * Subtensor's own types; field order is the encoding. In answers, amounts, blocks and counts are compact, names are
 * lists of compact bytes.
 */

import type { NamedTypes } from "./type_language.ts";

const module = "pallet_subtensor::pallet";
const answers = "pallet_subtensor::rpc_info";

const neuronFields = {
  hotkey: "AccountId",
  coldkey: "AccountId",
  uid: "Compact<u16>",
  netuid: "Compact<u16>",
  active: "bool",
  axon_info: "AxonInfo",
  prometheus_info: "PrometheusInfo",
  stake: "Vec<(AccountId, Compact<u64>)>",
  rank: "Compact<u16>",
  emission: "Compact<u64>",
  incentive: "Compact<u16>",
  consensus: "Compact<u16>",
  trust: "Compact<u16>",
  validator_trust: "Compact<u16>",
  dividends: "Compact<u16>",
  last_update: "Compact<u64>",
  validator_permit: "bool",
} as const;

const hyperparameterFields = {
  rho: "Compact<u16>",
  kappa: "Compact<u16>",
  immunity_period: "Compact<u16>",
  min_allowed_weights: "Compact<u16>",
  max_weights_limit: "Compact<u16>",
  tempo: "Compact<u16>",
  min_difficulty: "Compact<u64>",
  max_difficulty: "Compact<u64>",
  weights_version: "Compact<u64>",
  weights_rate_limit: "Compact<u64>",
  adjustment_interval: "Compact<u16>",
  activity_cutoff: "Compact<u16>",
  registration_allowed: "bool",
  target_regs_per_interval: "Compact<u16>",
  min_burn: "Compact<u64>",
  max_burn: "Compact<u64>",
  bonds_moving_avg: "Compact<u64>",
  max_regs_per_block: "Compact<u16>",
  serving_rate_limit: "Compact<u64>",
  max_validators: "Compact<u16>",
  adjustment_alpha: "Compact<u64>",
  difficulty: "Compact<u64>",
  commit_reveal_period: "Compact<u64>",
  commit_reveal_weights_enabled: "bool",
  alpha_high: "Compact<u16>",
  alpha_low: "Compact<u16>",
  liquid_alpha_enabled: "bool",
} as const;

const subnetFields = {
  netuid: "Compact<u16>",
  rho: "Compact<u16>",
  kappa: "Compact<u16>",
  difficulty: "Compact<u64>",
  immunity_period: "Compact<u16>",
  max_allowed_validators: "Compact<u16>",
  min_allowed_weights: "Compact<u16>",
  max_weights_limit: "Compact<u16>",
  scaling_law_power: "Compact<u16>",
  subnetwork_n: "Compact<u16>",
  max_allowed_uids: "Compact<u16>",
  blocks_since_last_step: "Compact<u64>",
  tempo: "Compact<u16>",
  network_modality: "Compact<u16>",
  network_connect: "Vec<[u16; 2]>",
} as const;

const poolFields = {
  alpha_in: "Compact<u64>",
  alpha_out: "Compact<u64>",
  tao_in: "Compact<u64>",
  alpha_out_emission: "Compact<u64>",
  alpha_in_emission: "Compact<u64>",
  tao_in_emission: "Compact<u64>",
  pending_alpha_emission: "Compact<u64>",
  pending_root_emission: "Compact<u64>",
  subnet_volume: "Compact<u128>",
} as const;

const columnFields = {
  active: "Vec<bool>",
  validator_permit: "Vec<bool>",
  pruning_score: "Vec<Compact<u16>>",
  last_update: "Vec<Compact<u64>>",
  emission: "Vec<Compact<u64>>",
  dividends: "Vec<Compact<u16>>",
  incentives: "Vec<Compact<u16>>",
  consensus: "Vec<Compact<u16>>",
  trust: "Vec<Compact<u16>>",
  rank: "Vec<Compact<u16>>",
  block_at_registration: "Vec<Compact<u64>>",
  alpha_stake: "Vec<Compact<u64>>",
  tao_stake: "Vec<Compact<u64>>",
  total_stake: "Vec<Compact<u64>>",
} as const;

/** `get_selective_metagraph` counts from `netuid`, 0. */
const metagraphFields = {
  name: "Vec<Compact<u8>>",
  symbol: "Vec<Compact<u8>>",
  identity: "Option<SubnetIdentityV3>",
  network_registered_at: "Compact<u64>",
  owner_hotkey: "AccountId",
  owner_coldkey: "AccountId",
  block: "Compact<u64>",
  tempo: "Compact<u16>",
  last_step: "Compact<u64>",
  blocks_since_last_step: "Compact<u64>",
  subnet_emission: "Compact<u64>",
  ...poolFields,
  moving_price: "FixedI128",
  rho: "Compact<u16>",
  kappa: "Compact<u16>",
  min_allowed_weights: "Compact<u16>",
  max_weights_limit: "Compact<u16>",
  weights_version: "Compact<u64>",
  weights_rate_limit: "Compact<u64>",
  activity_cutoff: "Compact<u16>",
  max_validators: "Compact<u16>",
  num_uids: "Compact<u16>",
  max_uids: "Compact<u16>",
  burn: "Compact<u64>",
  difficulty: "Compact<u64>",
  registration_allowed: "bool",
  pow_registration_allowed: "bool",
  immunity_period: "Compact<u16>",
  min_difficulty: "Compact<u64>",
  max_difficulty: "Compact<u64>",
  min_burn: "Compact<u64>",
  max_burn: "Compact<u64>",
  adjustment_alpha: "Compact<u64>",
  adjustment_interval: "Compact<u16>",
  target_regs_per_interval: "Compact<u16>",
  max_regs_per_block: "Compact<u16>",
  serving_rate_limit: "Compact<u64>",
  commit_reveal_weights_enabled: "bool",
  commit_reveal_period: "Compact<u64>",
  liquid_alpha_enabled: "bool",
  alpha_high: "Compact<u16>",
  alpha_low: "Compact<u16>",
  bonds_moving_avg: "Compact<u64>",
  hotkeys: "Vec<AccountId>",
  coldkeys: "Vec<AccountId>",
  identities: "Vec<Option<ChainIdentityV2>>",
  axons: "Vec<AxonInfo>",
  ...columnFields,
  tao_dividends_per_hotkey: "Vec<(AccountId, Compact<u64>)>",
  alpha_dividends_per_hotkey: "Vec<(AccountId, Compact<u64>)>",
} as const;

function optional(fields: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(fields).map(([name, type]) => [name, `Option<${type}>`]));
}

function texts(...names: string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(names.map((name) => [name, "Vec<u8>"]));
}

export const subtensorTypes: NamedTypes = {
  AxonInfo: {
    path: `${module}::AxonInfo`,
    fields: {
      block: "u64",
      version: "u32",
      ip: "u128",
      port: "u16",
      ip_type: "u8",
      protocol: "u8",
      placeholder1: "u8",
      placeholder2: "u8",
    },
  },
  PrometheusInfo: {
    path: `${module}::PrometheusInfo`,
    fields: { block: "u64", version: "u32", ip: "u128", port: "u16", ip_type: "u8" },
  },
  FixedI64: { path: "substrate_fixed::FixedI64", fields: { bits: "i64" } },
  FixedI128: { path: "substrate_fixed::FixedI128", fields: { bits: "i128" } },
  SubnetIdentityV3: {
    path: `${module}::SubnetIdentityV3`,
    fields: texts(
      "subnet_name",
      "github_repo",
      "subnet_contact",
      "subnet_url",
      "discord",
      "description",
      "logo_url",
      "additional",
    ),
  },
  ChainIdentityV2: {
    path: `${module}::ChainIdentityV2`,
    fields: texts("name", "url", "github_repo", "image", "discord", "description", "additional"),
  },
  NeuronInfo: {
    path: `${answers}::neuron_info::NeuronInfo`,
    fields: {
      ...neuronFields,
      weights: "Vec<(Compact<u16>, Compact<u16>)>",
      bonds: "Vec<(Compact<u16>, Compact<u16>)>",
      pruning_score: "Compact<u16>",
    },
  },
  NeuronInfoLite: {
    path: `${answers}::neuron_info::NeuronInfoLite`,
    fields: { ...neuronFields, pruning_score: "Compact<u16>" },
  },
  SubnetInfo: {
    path: `${answers}::subnet_info::SubnetInfo`,
    fields: { ...subnetFields, emission_values: "Compact<u64>", burn: "Compact<u64>", owner: "AccountId" },
  },
  SubnetInfov2: {
    path: `${answers}::subnet_info::SubnetInfov2`,
    fields: {
      ...subnetFields,
      emission_value: "Compact<u64>",
      burn: "Compact<u64>",
      owner: "AccountId",
      identity: "Option<SubnetIdentityV3>",
    },
  },
  SubnetHyperparams: { path: `${answers}::subnet_info::SubnetHyperparams`, fields: hyperparameterFields },
  SubnetHyperparamsV2: {
    path: `${answers}::subnet_info::SubnetHyperparamsV2`,
    fields: {
      ...hyperparameterFields,
      alpha_sigmoid_steepness: "FixedI64",
      yuma_version: "Compact<u16>",
      subnet_is_active: "bool",
      transfers_enabled: "bool",
      bonds_reset_enabled: "bool",
      user_liquidity_enabled: "bool",
    },
  },
  DynamicInfo: {
    path: `${answers}::dynamic_info::DynamicInfo`,
    fields: {
      netuid: "Compact<u16>",
      owner_hotkey: "AccountId",
      owner_coldkey: "AccountId",
      subnet_name: "Vec<Compact<u8>>",
      token_symbol: "Vec<Compact<u8>>",
      tempo: "Compact<u16>",
      last_step: "Compact<u64>",
      blocks_since_last_step: "Compact<u64>",
      emission: "Compact<u64>",
      ...poolFields,
      network_registered_at: "Compact<u64>",
      subnet_identity: "Option<SubnetIdentityV3>",
      moving_price: "FixedI128",
    },
  },
  Metagraph: {
    path: `${answers}::metagraph::Metagraph`,
    fields: { netuid: "Compact<u16>", ...metagraphFields },
  },
  SelectiveMetagraph: {
    path: `${answers}::metagraph::SelectiveMetagraph`,
    fields: {
      netuid: "Compact<u16>",
      ...optional(metagraphFields),
      validators: "Option<Vec<Compact<u16>>>",
      commitments: "Option<Vec<(AccountId, Vec<Compact<u8>>)>>",
    },
  },
  SubnetState: {
    path: `${answers}::show_subnet::SubnetState`,
    fields: {
      netuid: "Compact<u16>",
      hotkeys: "Vec<AccountId>",
      coldkeys: "Vec<AccountId>",
      ...columnFields,
      emission_history: "Vec<Vec<Compact<u64>>>",
    },
  },
  StakeInfo: {
    path: `${answers}::stake_info::StakeInfo`,
    fields: {
      hotkey: "AccountId",
      coldkey: "AccountId",
      netuid: "Compact<u16>",
      stake: "Compact<u64>",
      locked: "Compact<u64>",
      emission: "Compact<u64>",
      tao_emission: "Compact<u64>",
      drain: "Compact<u64>",
      is_registered: "bool",
    },
  },
  SimSwapResult: {
    path: "pallet_subtensor_swap_runtime_api::SimSwapResult",
    fields: {
      tao_amount: "u64",
      alpha_amount: "u64",
      tao_fee: "u64",
      alpha_fee: "u64",
      tao_slippage: "u64",
      alpha_slippage: "u64",
    },
  },
  SubnetPrice: {
    path: "pallet_subtensor_swap_runtime_api::SubnetPrice",
    fields: { netuid: "u16", price: "u64" },
  },
};
