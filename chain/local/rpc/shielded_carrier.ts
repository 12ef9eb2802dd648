/**
 * MevShield.submit_encrypted as the ledger's call, and the extrinsic it carries.
 *
 * Throws `RpcError` where a node's pool refuses: bytes that are not a shielded extrinsic, or encrypted with another
 * key. The content is untrusted: callers must treat it like any extrinsic.
 */

import { ScaleWriter } from "../surface/scale_bytes.ts";
import { hashBytes } from "../block/header.ts";
import type { AccountId, LedgerCall } from "../block/ledger.ts";
import type { SignedExtrinsic } from "./extrinsic.ts";
import { customInvalid, undecodable } from "./rpc_error.ts";
import { isForShieldKey, openShielded, shieldedParts } from "./shield.ts";

export interface Carrier {
  readonly call: LedgerCall;
  readonly inner: Uint8Array | null; // a signed extrinsic; null: it cannot be decrypted
}

const ciphertextBytesMax = 8_192; // the runtime's type is bounded: a longer one cannot be decoded
const failedParsing = 23; // custom codes of the pool
const invalidKeyHash = 24;

/** Null: any other call. */
export function carrierOf({ from, call: { pallet, name, args } }: SignedExtrinsic): Carrier | null {
  if (pallet !== "MevShield" || name !== "submit_encrypted") return null;
  const ciphertext = args.ciphertext as Uint8Array;
  if (ciphertext.length > ciphertextBytesMax) {
    throw undecodable(
      `a ciphertext must have at most ${ciphertextBytesMax} bytes: current value is ${ciphertext.length}`,
    );
  }
  const parts = shieldedParts(ciphertext);
  if (parts === null) throw customInvalid(failedParsing);
  if (!isForShieldKey(parts)) throw customInvalid(invalidKeyHash);
  return { call: { type: "submitEncrypted", id: idOf(from, ciphertext) }, inner: openShielded(parts) };
}

function idOf(from: AccountId, ciphertext: Uint8Array): Uint8Array {
  const writer = new ScaleWriter();
  writer.raw(from);
  writer.blob(ciphertext);
  return hashBytes(writer.bytes());
}
