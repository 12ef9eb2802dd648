/**
 * The pallet of encrypted extrinsics (MEV Shield), through which Bittensor's SDK 11 registers and stakes.
 *
 * Out of scope: per-author keys and the older queue of encrypted calls, because this chain has one author and no queue.
 */

import { call, type Pallet, stored } from "./description.ts";

const key = "Vec<u8>"; // of ML-KEM-768, 1184 bytes

export const mevShield: Pallet = {
  name: "MevShield",
  index: 30,
  crate: "pallet_shield",
  calls: [call(1, "submit_encrypted", "ciphertext: Vec<u8>")],
  storage: [
    stored("CurrentKey", [], key, "none"),
    stored("PendingKey", [], key, "none"), // of the next block's author
    stored("NextKey", [], key, "none"), // of the author after that: the one to encrypt with
    stored("PendingKeyExpiresAt", [], "u32", "none"),
    stored("NextKeyExpiresAt", [], "u32", "none"),
  ],
  events: {
    EncryptedSubmitted: { index: 0, fields: [{ name: "id", type: "H256" }, { name: "who", type: "AccountId" }] },
  },
  errors: ["BadEncKeyLen", "Unreachable"],
  constants: [],
};
