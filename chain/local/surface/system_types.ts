/** Every Substrate runtime's types; clients recognise the paths. */

import { type NamedTypes, plainVariants, type Variant, variant } from "./type_language.ts";

/** The variant is the era's first byte, its value the second. */
function eraVariants(): Readonly<Record<string, Variant>> {
  const mortal = Array.from({ length: 255 }, (_, i) => [`Mortal${i + 1}`, variant(i + 1, "u8")] as const);
  return { Immortal: variant(0), ...Object.fromEntries(mortal) };
}

export const systemTypes: NamedTypes = {
  AccountId: { path: "sp_core::crypto::AccountId32", wraps: "[u8; 32]" },
  H256: { path: "primitive_types::H256", wraps: "[u8; 32]" },
  MultiAddress: {
    path: "sp_runtime::multiaddress::MultiAddress",
    parameters: { AccountId: "AccountId", AccountIndex: "()" },
    variants: {
      Id: variant(0, "AccountId"),
      Index: variant(1, "Compact<()>"),
      Raw: variant(2, "Vec<u8>"),
      Address32: variant(3, "[u8; 32]"),
      Address20: variant(4, "[u8; 20]"),
    },
  },
  MultiSignature: {
    path: "sp_runtime::MultiSignature",
    variants: {
      Ed25519: variant(0, "[u8; 64]"),
      Sr25519: variant(1, "[u8; 64]"),
      Ecdsa: variant(2, "[u8; 65]"),
    },
  },
  Era: { path: "sp_runtime::generic::era::Era", variants: eraVariants() },
  Weight: {
    path: "sp_weights::weight_v2::Weight",
    fields: { ref_time: "Compact<u64>", proof_size: "Compact<u64>" },
  },
  DispatchClass: {
    path: "frame_support::dispatch::DispatchClass",
    variants: plainVariants(["Normal", "Operational", "Mandatory"]),
  },
  Pays: { path: "frame_support::dispatch::Pays", variants: plainVariants(["Yes", "No"]) },
  DispatchEventInfo: {
    path: "frame_system::DispatchEventInfo",
    fields: { weight: "Weight", class: "DispatchClass", pays_fee: "Pays" },
  },
  ModuleError: { path: "sp_runtime::ModuleError", fields: { index: "u8", error: "[u8; 4]" } },
  TokenError: {
    path: "sp_runtime::TokenError",
    variants: plainVariants([
      "FundsUnavailable",
      "OnlyProvider",
      "BelowMinimum",
      "CannotCreate",
      "UnknownAsset",
      "Frozen",
      "Unsupported",
      "CannotCreateHold",
      "NotExpendable",
      "Blocked",
    ]),
  },
  DispatchError: {
    path: "sp_runtime::DispatchError",
    variants: {
      Other: variant(0),
      CannotLookup: variant(1),
      BadOrigin: variant(2),
      Module: variant(3, "ModuleError"),
      ConsumerRemaining: variant(4),
      NoProviders: variant(5),
      TooManyConsumers: variant(6),
      Token: variant(7, "TokenError"),
    },
  },
  Phase: {
    path: "frame_system::Phase",
    variants: { ApplyExtrinsic: variant(0, "u32"), Finalization: variant(1), Initialization: variant(2) },
  },
  EventRecord: {
    path: "frame_system::EventRecord",
    parameters: { E: "RuntimeEvent", T: "H256" },
    fields: { phase: "Phase", event: "RuntimeEvent", topics: "Vec<H256>" },
  },
  DigestItem: {
    path: "sp_runtime::generic::digest::DigestItem",
    variants: {
      PreRuntime: variant(6, "[u8; 4]", "Vec<u8>"),
      Consensus: variant(4, "[u8; 4]", "Vec<u8>"),
      Seal: variant(5, "[u8; 4]", "Vec<u8>"),
      Other: variant(0, "Vec<u8>"),
      RuntimeEnvironmentUpdated: variant(8),
    },
  },
  Digest: { path: "sp_runtime::generic::digest::Digest", fields: { logs: "Vec<DigestItem>" } },
  AccountData: {
    path: "pallet_balances::types::AccountData",
    fields: { free: "u64", reserved: "u64", frozen: "u64", flags: "ExtraFlags" },
  },
  ExtraFlags: { path: "pallet_balances::types::ExtraFlags", wraps: "u128" },
  AccountInfo: {
    path: "frame_system::AccountInfo",
    fields: { nonce: "u32", consumers: "u32", providers: "u32", sufficients: "u32", data: "AccountData" },
  },
  LastRuntimeUpgradeInfo: {
    path: "frame_system::LastRuntimeUpgradeInfo",
    fields: { spec_version: "Compact<u32>", spec_name: "str" },
  },
  DbWeight: { path: "sp_weights::RuntimeDbWeight", fields: { read: "u64", write: "u64" } },
  RuntimeVersion: {
    path: "sp_version::RuntimeVersion",
    fields: {
      spec_name: "str",
      impl_name: "str",
      authoring_version: "u32",
      spec_version: "u32",
      impl_version: "u32",
      apis: "Vec<([u8; 8], u32)>",
      transaction_version: "u32",
      system_version: "u8",
    },
  },
  RuntimeDispatchInfo: {
    path: "pallet_transaction_payment::types::RuntimeDispatchInfo",
    fields: { weight: "Weight", class: "DispatchClass", partial_fee: "u64" },
  },
  InclusionFee: {
    path: "pallet_transaction_payment::types::InclusionFee",
    fields: { base_fee: "u64", len_fee: "u64", adjusted_weight_fee: "u64" },
  },
  FeeDetails: {
    path: "pallet_transaction_payment::types::FeeDetails",
    fields: { inclusion_fee: "Option<InclusionFee>", tip: "u64" },
  },
  Pulse: {
    path: "pallet_drand::types::Pulse",
    fields: { round: "u64", randomness: "Vec<u8>", signature: "Vec<u8>" },
  },
  BeaconMetadata: { path: "pallet_drand::types::Metadata", fields: { beacon_id: "Vec<u8>" } },
  BeaconConfiguration: {
    path: "pallet_drand::types::BeaconConfiguration",
    fields: {
      public_key: "Vec<u8>",
      period: "u32",
      genesis_time: "u32",
      hash: "Vec<u8>",
      group_hash: "Vec<u8>",
      scheme_id: "Vec<u8>",
      metadata: "BeaconMetadata",
    },
  },
  CheckMetadataHashMode: {
    path: "frame_metadata_hash_extension::Mode",
    variants: plainVariants(["Disabled", "Enabled"]),
  },
  CheckMetadataHash: {
    path: "frame_metadata_hash_extension::CheckMetadataHash",
    fields: { mode: "CheckMetadataHashMode" },
  },
};
