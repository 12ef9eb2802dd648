/**
 * What runtimes after spec 423 declare and Bittensor's SDK 11 does not start without: more storage, more functions, on-chain
 * commitments; and the registration with a highest price, which runtimes have since 411.
 *
 * Nothing else here changes how the embedded chain works. Its answers say so: full price is burned, consensus is Yuma's, nobody
 * committed to anything. Refuses: the calls that would set these.
 */

import {
  type Call,
  call,
  identity,
  method,
  type Pallet,
  type RuntimeApi,
  type StorageItem,
  stored,
  twox,
} from "./description.ts";
import { type NamedTypes, variant } from "./type_language.ts";

export const laterCalls: readonly Call[] = [
  call(134, "register_limit", "netuid: u16, hotkey: AccountId, limit_price: u64"),
];

/** Behind those of subtensor_errors.ts. */
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

/** Where neurons publish small texts about themselves. It is empty and stays so. */
export const commitments: Pallet = {
  name: "Commitments",
  index: 18,
  crate: "pallet_commitments",
  calls: [],
  storage: [
    stored("CommitmentOf", [identity("u16"), twox("AccountId")], "CommitmentRegistration", "none"),
    stored("RevealedCommitments", [identity("u16"), twox("AccountId")], "Vec<(Vec<u8>, u64)>", "none"),
  ],
  events: {},
  errors: [],
  constants: [],
};

const commitmentTypes = "pallet_commitments::types";

export const laterTypes: NamedTypes = {
  CommitmentRegistration: {
    path: `${commitmentTypes}::Registration`,
    fields: { deposit: "u64", block: "u32", info: "CommitmentInfo" },
  },
  CommitmentInfo: { path: `${commitmentTypes}::CommitmentInfo`, fields: { fields: "Vec<CommitmentData>" } },
  CommitmentData: { path: `${commitmentTypes}::Data`, variants: { None: variant(0) } },
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
