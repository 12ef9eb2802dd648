/**
 * The Commitments pallet as on the chain (tested). Timelocked fields and the flag that resets bonds decode, but are
 * refused.
 */

import { call, identity, type Pallet, type StorageKey, stored, twox } from "./description.ts";
import { type NamedTypes, type Variant, variant } from "./type_language.ts";

const rawBytesMax = 128;
export const bigRawBytesMax = 512;
export const fieldsMax = 3; // the decoder's limit
export const spaceBytesMax = 3_100; // per hotkey and epoch

const byAccount: readonly StorageKey[] = [identity("u16"), twox("AccountId")];

const who = [{ name: "netuid", type: "u16" }, { name: "who", type: "AccountId" }];

export const commitments: Pallet = {
  name: "Commitments",
  index: 18,
  crate: "pallet_commitments",
  calls: [call(0, "set_commitment", "netuid: u16, info: CommitmentInfo")],
  storage: [
    stored("CommitmentOf", byAccount, "CommitmentRegistration", "none"),
    stored("LastCommitment", byAccount, "u32", "none"),
    stored("RevealedCommitments", byAccount, "Vec<(Vec<u8>, u64)>", "none"),
    stored("UsedSpaceOf", byAccount, "CommitmentUsage", "none"),
    stored("MaxSpace", [], "u32", "0x1c0c0000"),
  ],
  events: {
    Commitment: { index: 0, fields: who },
    TimelockCommitment: { index: 1, fields: [...who, { name: "reveal_round", type: "u64" }] },
    CommitmentRevealed: { index: 2, fields: who },
  },
  errors: [
    "TooManyFieldsInCommitmentInfo",
    "AccountNotAllowedCommit",
    "SpaceLimitExceeded",
    "UnexpectedUnreserveLeftover",
  ],
  constants: [
    { name: "MaxFields", type: "u32", value: fieldsMax },
    { name: "InitialDeposit", type: "u64", value: 0n },
    { name: "FieldDeposit", type: "u64", value: 0n },
  ],
};

const types = "pallet_commitments::types";

/** The variant includes the length: `Raw0` to `Raw128`. */
function dataVariants(): Readonly<Record<string, Variant>> {
  const raw = Array.from(
    { length: rawBytesMax + 1 },
    (_, length) => [`Raw${length}`, variant(length + 1, `[u8; ${length}]`)],
  );
  return {
    None: variant(0),
    ...Object.fromEntries(raw),
    BlakeTwo256: variant(130, "[u8; 32]"),
    Sha256: variant(131, "[u8; 32]"),
    Keccak256: variant(132, "[u8; 32]"),
    ShaThree256: variant(133, "[u8; 32]"),
    TimelockEncrypted: {
      index: 134,
      fields: [{ name: "encrypted", type: "Vec<u8>" }, { name: "reveal_round", type: "u64" }],
    },
    ResetBondsFlag: variant(135),
    BigRaw: variant(136, "Vec<u8>"),
  };
}

export const commitmentTypes: NamedTypes = {
  CommitmentRegistration: {
    path: `${types}::Registration`,
    fields: { deposit: "u64", block: "u32", info: "CommitmentInfo" },
  },
  CommitmentInfo: { path: `${types}::CommitmentInfo`, fields: { fields: "Vec<CommitmentData>" } },
  CommitmentData: { path: `${types}::Data`, variants: dataVariants() },
  CommitmentUsage: { path: `${types}::UsageTracker`, fields: { last_epoch: "u64", used_space: "u64" } },
};
