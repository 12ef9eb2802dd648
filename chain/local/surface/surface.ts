/** The surface of one runtime: epochs are arithmetic in `legacy` (spec 393) and stored in `stateful` (from 423). */

import { blake2b } from "@noble/hashes/blake2.js";
import { commitments, commitmentTypes } from "./commitments_pallet.ts";
import { laterCalls, laterErrors, laterStorage, laterTypes, withLaterMethods } from "./later_surface.ts";
import { type Call, call, type Pallet, type RuntimeApi, type SignedExtension, type Surface } from "./description.ts";
import { runtimeApis } from "./runtime_apis.ts";
import { subtensorTypes } from "./subtensor_types.ts";
import { drand, mevShield, systemPallets } from "./system_pallets.ts";
import { systemTypes } from "./system_types.ts";
import { subtensorErrors } from "./subtensor_errors.ts";
import { statefulEpochStorage, subtensorStorage } from "./subtensor_storage.ts";
import { type Variant, variant } from "./type_language.ts";

interface SurfaceOptions {
  readonly epochs: "legacy" | "stateful";
  readonly blockMs: number;
  readonly specVersion?: number; // default 393 or 425
}

/** In the order of the signed bytes. */
const extensions: readonly SignedExtension[] = [
  { name: "CheckNonZeroSender", carried: "()", implied: "()" },
  { name: "CheckSpecVersion", carried: "()", implied: "u32" },
  { name: "CheckTxVersion", carried: "()", implied: "u32" },
  { name: "CheckGenesis", carried: "()", implied: "H256" },
  { name: "CheckMortality", carried: "Era", implied: "H256" },
  { name: "CheckNonce", carried: "Compact<u32>", implied: "()" },
  { name: "CheckWeight", carried: "()", implied: "()" },
  { name: "ChargeTransactionPayment", carried: "Compact<u64>", implied: "()" }, // tip
  { name: "SudoTransactionExtension", carried: "()", implied: "()" },
  { name: "CheckShieldedTxValidity", carried: "()", implied: "()" },
  { name: "SubtensorTransactionExtension", carried: "()", implied: "()" },
  { name: "DrandPriority", carried: "()", implied: "()" },
  { name: "CheckMetadataHash", carried: "CheckMetadataHash", implied: "Option<[u8; 32]>" },
];

const transactionVersion = 1;
const specVersions = { legacy: 393, stateful: 425 } as const;

export function runtimeSurface(options: SurfaceOptions): Surface {
  const specVersion = options.specVersion ?? specVersions[options.epochs];
  const version = runtimeVersion(specVersion);
  return {
    specVersion,
    transactionVersion,
    types: { ...systemTypes, ...subtensorTypes, ...laterTypes, ...commitmentTypes },
    pallets: [
      ...systemPallets({ blockMs: options.blockMs, version }),
      subtensorPallet(options),
      commitments,
      drand,
      mevShield,
    ],
    apis: options.epochs === "stateful" ? withLaterMethods(runtimeApis) : runtimeApis,
    extensions,
  };
}

export interface RuntimeVersion {
  readonly specName: string;
  readonly implName: string;
  readonly authoringVersion: number;
  readonly specVersion: number;
  readonly implVersion: number;
  readonly apis: readonly (readonly [Uint8Array, number])[];
  readonly transactionVersion: number;
  readonly systemVersion: number;
}

export function runtimeVersion(specVersion: number): RuntimeVersion {
  return {
    specName: "node-subtensor", // checked by the chain authors' client
    implName: "iota-local",
    authoringVersion: 1,
    specVersion,
    implVersion: 1,
    apis: runtimeApis.map((api) => [apiId(api), api.version]),
    transactionVersion,
    systemVersion: 1,
  };
}

/** Clients know a runtime API by this hash. */
function apiId(api: RuntimeApi): Uint8Array {
  return blake2b(new TextEncoder().encode(api.name), { dkLen: 8 });
}

/** Indices are the chain's. */
const weights = "uids: Vec<u16>, values: Vec<u16>, salt: Vec<u16>, version_key: u64";
const timelock = "commit: Vec<u8>, reveal_round: u64, commit_reveal_version: u16";
const staked = "hotkey: AccountId, netuid: u16";
const limit = "limit_price: u64, allow_partial: bool";
const axon = "version: u32, ip: u128, port: u16, ip_type: u8, protocol: u8, placeholder1: u8, placeholder2: u8";

const calls: readonly Call[] = [
  call(0, "set_weights", "netuid: u16, dests: Vec<u16>, weights: Vec<u16>, version_key: u64"),
  call(119, "set_mechanism_weights", "netuid: u16, mecid: u8, dests: Vec<u16>, weights: Vec<u16>, version_key: u64"),
  call(96, "commit_weights", "netuid: u16, commit_hash: H256"),
  call(115, "commit_mechanism_weights", "netuid: u16, mecid: u8, commit_hash: H256"),
  call(97, "reveal_weights", `netuid: u16, ${weights}`),
  call(116, "reveal_mechanism_weights", `netuid: u16, mecid: u8, ${weights}`),
  call(113, "commit_timelocked_weights", `netuid: u16, ${timelock}`),
  call(118, "commit_timelocked_mechanism_weights", `netuid: u16, mecid: u8, ${timelock}`),
  call(2, "add_stake", `${staked}, amount_staked: u64`),
  call(3, "remove_stake", `${staked}, amount_unstaked: u64`),
  call(88, "add_stake_limit", `${staked}, amount_staked: u64, ${limit}`),
  call(89, "remove_stake_limit", `${staked}, amount_unstaked: u64, ${limit}`),
  call(4, "serve_axon", `netuid: u16, ${axon}`),
  call(7, "burned_register", "netuid: u16, hotkey: AccountId"),
  call(59, "register_network", "hotkey: AccountId"),
];

const events: Readonly<Record<string, Variant>> = {
  NetworkAdded: variant(0, "u16", "u16"),
  StakeAdded: variant(2, "AccountId", "AccountId", "u64", "u64", "u16", "u64"),
  StakeRemoved: variant(3, "AccountId", "AccountId", "u64", "u64", "u16", "u64"),
  WeightsSet: variant(5, "u16", "u16"), // index, uid
  NeuronRegistered: variant(6, "u16", "u16", "AccountId"),
  AxonServed: variant(28, "u16", "AccountId"),
  WeightsCommitted: variant(83, "AccountId", "u16", "H256"),
  WeightsRevealed: variant(84, "AccountId", "u16", "H256"),
  TimelockedWeightsCommitted: variant(105, "AccountId", "u16", "H256", "u64"),
  TimelockedWeightsRevealed: variant(106, "u16", "AccountId"),
};

function subtensorPallet(options: { readonly epochs: "legacy" | "stateful" }): Pallet {
  const isLater = options.epochs === "stateful";
  return {
    name: "SubtensorModule",
    index: 7,
    crate: "pallet_subtensor",
    calls: isLater ? [...calls, ...laterCalls] : calls,
    storage: isLater ? [...subtensorStorage, ...statefulEpochStorage, ...laterStorage] : subtensorStorage,
    events,
    errors: isLater ? [...subtensorErrors, ...laterErrors] : subtensorErrors,
    constants: [
      { name: "InitialTempo", type: "u16", value: 360 },
      { name: "KeySwapCost", type: "u64", value: 100_000_000n },
    ],
  };
}
