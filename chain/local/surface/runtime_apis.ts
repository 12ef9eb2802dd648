/** The runtime functions behind `state_call`. */

import { method, type RuntimeApi } from "./description.ts";

export const runtimeApis: readonly RuntimeApi[] = [
  { name: "Core", version: 5, methods: [method("version", "", "RuntimeVersion")] },
  {
    name: "Metadata",
    version: 2,
    methods: [
      method("metadata", "", "Vec<u8>"),
      method("metadata_at_version", "version: u32", "Option<Vec<u8>>"),
      method("metadata_versions", "", "Vec<u32>"),
    ],
  },
  { name: "AccountNonceApi", version: 1, methods: [method("account_nonce", "account: AccountId", "u32")] },
  {
    name: "TransactionPaymentApi",
    version: 4,
    methods: [
      method("query_info", "uxt: Vec<u8>, len: u32", "RuntimeDispatchInfo"),
      method("query_fee_details", "uxt: Vec<u8>, len: u32", "FeeDetails"),
    ],
  },
  {
    name: "NeuronInfoRuntimeApi",
    version: 1,
    methods: [
      method("get_neurons", "netuid: u16", "Vec<NeuronInfo>"),
      method("get_neuron", "netuid: u16, uid: u16", "Option<NeuronInfo>"),
      method("get_neurons_lite", "netuid: u16", "Vec<NeuronInfoLite>"),
      method("get_neuron_lite", "netuid: u16, uid: u16", "Option<NeuronInfoLite>"),
    ],
  },
  {
    name: "SubnetInfoRuntimeApi",
    version: 1,
    methods: [
      method("get_subnet_info", "netuid: u16", "Option<SubnetInfo>"),
      method("get_subnets_info", "", "Vec<Option<SubnetInfo>>"),
      method("get_subnet_info_v2", "netuid: u16", "Option<SubnetInfov2>"),
      method("get_subnets_info_v2", "", "Vec<Option<SubnetInfov2>>"),
      method("get_subnet_hyperparams", "netuid: u16", "Option<SubnetHyperparams>"),
      method("get_subnet_hyperparams_v2", "netuid: u16", "Option<SubnetHyperparamsV2>"),
      method("get_all_dynamic_info", "", "Vec<Option<DynamicInfo>>"),
      method("get_dynamic_info", "netuid: u16", "Option<DynamicInfo>"),
      method("get_subnet_state", "netuid: u16", "Option<SubnetState>"),
      method("get_metagraph", "netuid: u16", "Option<Metagraph>"),
      method("get_mechagraph", "netuid: u16, mecid: u8", "Option<Metagraph>"),
      method("get_selective_metagraph", "netuid: u16, metagraph_indexes: Vec<u16>", "Option<SelectiveMetagraph>"),
      method(
        "get_selective_mechagraph",
        "netuid: u16, subid: u8, metagraph_indexes: Vec<u16>",
        "Option<SelectiveMetagraph>",
      ),
    ],
  },
  {
    name: "StakeInfoRuntimeApi",
    version: 1,
    methods: [
      method("get_stake_info_for_coldkey", "coldkey_account: AccountId", "Vec<StakeInfo>"),
      method(
        "get_stake_info_for_hotkey_coldkey_netuid",
        "hotkey_account: AccountId, coldkey_account: AccountId, netuid: u16",
        "Option<StakeInfo>",
      ),
      method(
        "get_stake_fee",
        "origin: Option<(AccountId, u16)>, origin_coldkey_account: AccountId, " +
          "destination: Option<(AccountId, u16)>, destination_coldkey_account: AccountId, amount: u64",
        "u64",
      ),
    ],
  },
  {
    name: "SubnetRegistrationRuntimeApi",
    version: 1,
    methods: [method("get_network_registration_cost", "", "u64")],
  },
  {
    name: "SwapRuntimeApi",
    version: 1,
    methods: [
      method("current_alpha_price", "netuid: u16", "u64"),
      method("current_alpha_price_all", "", "Vec<SubnetPrice>"),
      method("sim_swap_tao_for_alpha", "netuid: u16, tao: u64", "SimSwapResult"),
      method("sim_swap_alpha_for_tao", "netuid: u16, alpha: u64", "SimSwapResult"),
    ],
  },
];
