/**
 * Declarations that Bittensor's SDK 11 requires, from runtimes after spec 423, and the registration with a maximum
 * price (411). They change no rule: the full price is burned, consensus is Yuma's.
 */

import { type Call, call, identity, method, type RuntimeApi, type StorageItem, stored } from "./description.ts";
import { type NamedTypes, variant } from "./type_language.ts";

export const laterCalls: readonly Call[] = [
  call(134, "register_limit", "netuid: u16, hotkey: AccountId, limit_price: u64"),
];

export const laterErrors: readonly string[] = ["RegistrationPriceLimitExceeded"];

export const laterStorage: readonly StorageItem[] = [
  stored("CollateralLockShare", [identity("u16")], "u16"), // of a registration's price
  stored("SubnetEpochConsensus", [identity("u16")], "EpochConsensus"),
];

const laterMethods: Readonly<Record<string, RuntimeApi["methods"]>> = {
  SubnetInfoRuntimeApi: [
    method("get_subnet_hyperparams_v3", "netuid: u16", "Option<Vec<HyperparamEntry>>"),
    method("get_next_epoch_start_block", "netuid: u16", "Option<u64>"),
  ],
};

export const withLaterMethods = (apis: readonly RuntimeApi[]): readonly RuntimeApi[] =>
  apis.map((api) => ({ ...api, methods: [...api.methods, ...laterMethods[api.name] ?? []] }));

export const laterTypes: NamedTypes = {
  EpochConsensus: { path: "pallet_subtensor::EpochConsensus", variants: { Yuma: variant(0), Null: variant(1) } },
  HyperparamEntry: {
    path: "pallet_subtensor::rpc_info::subnet_info::HyperparamEntry",
    fields: { name: "Vec<u8>", value: "HyperparamValue" },
  },
  HyperparamValue: {
    path: "pallet_subtensor::rpc_info::subnet_info::HyperparamValue",
    variants: {
      Bool: variant(0, "bool"),
      U16: variant(1, "u16"),
      U64: variant(2, "u64"),
    },
  },
};
