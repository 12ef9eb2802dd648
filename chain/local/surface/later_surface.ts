/**
 * Declarations of runtimes after spec 423 that Bittensor's SDK 11 requires: more storage and functions; also the
 * registration with a maximum price, which runtimes have since 411.
 *
 * They do not change how the embedded chain works otherwise, and its answers show that: the full price is burned,
 * consensus is Yuma's. Out of scope: the calls that would set these.
 */

import { type Call, call, identity, method, type RuntimeApi, type StorageItem, stored } from "./description.ts";
import { type NamedTypes, variant } from "./type_language.ts";

export const laterCalls: readonly Call[] = [
  call(134, "register_limit", "netuid: u16, hotkey: AccountId, limit_price: u64"),
];

/** After those of subtensor_errors.ts. */
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
