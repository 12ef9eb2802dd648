/**
 * Encrypted extrinsics (the runtime's MEV Shield).
 *
 * ciphertext = twox128(key) | length of the next, u16 | ML-KEM-768 ciphertext | nonce(24) | XChaCha20-Poly1305 of a
 * signed extrinsic. The key hides nothing: it is the ML-KEM key whose vector t is zero, so a ciphertext carries its
 * message in the open, as v = noise + message, and decrypting takes no secret. Invalid bytes give null.
 */

import { xchacha20poly1305 } from "@noble/ciphers/chacha.js";
import { sha3_256, sha3_512 } from "@noble/hashes/sha3.js";
import { concatBytes } from "../../scale.ts";
import { twox128 } from "../surface/xxhash.ts";
import { ScaleWriter } from "../surface/scale_bytes.ts";
import { hashBytes } from "../block/header.ts";
import type { AccountId, LedgerCall } from "../block/ledger.ts";
import type { SignedExtrinsic } from "./extrinsic.ts";
import { customInvalid, undecodable } from "./rpc_error.ts";

const vectorBytes = 3 * 384; // 3 polynomials of 256 coefficients of 12 bits
const seedBytes = 32; // arbitrary, but Bittensor's SDK takes valid UTF-8 for text
const uBytes = 3 * 320; // 3 polynomials, 10 bits per coefficient
const vBytes = 128; // 1 polynomial, 4 bits per coefficient
const keyHashBytes = 16;
const nonceBytes = 24;
const tagBytes = 16;

export const shieldKey: Uint8Array = concatBytes(new Uint8Array(vectorBytes), new Uint8Array(seedBytes).fill(0xff));
const shieldKeyHash = twox128(shieldKey);

interface ShieldedParts {
  readonly keyHash: Uint8Array;
  readonly encapsulated: Uint8Array;
  readonly nonce: Uint8Array;
  readonly sealed: Uint8Array;
}

export function shieldedParts(ciphertext: Uint8Array): ShieldedParts | null {
  const lengthAt = keyHashBytes + 2;
  if (ciphertext.length < lengthAt) return null;
  const nonceAt = lengthAt + (ciphertext[keyHashBytes]! | ciphertext[keyHashBytes + 1]! << 8);
  const sealedAt = nonceAt + nonceBytes;
  if (ciphertext.length < sealedAt + tagBytes) return null;
  return {
    keyHash: ciphertext.subarray(0, keyHashBytes),
    encapsulated: ciphertext.subarray(lengthAt, nonceAt),
    nonce: ciphertext.subarray(nonceAt, sealedAt),
    sealed: ciphertext.subarray(sealedAt),
  };
}

export const isForShieldKey = ({ keyHash }: ShieldedParts): boolean =>
  keyHash.every((byte, i) => byte === shieldKeyHash[i]);

/** Null: another key, or damaged. */
export function openShielded({ encapsulated, nonce, sealed }: ShieldedParts): Uint8Array | null {
  if (encapsulated.length !== uBytes + vBytes) return null;
  const sharedKey = sha3_512(concatBytes(messageOf(encapsulated.subarray(uBytes)), sha3_256(shieldKey)))
    .subarray(0, 32);
  try {
    return xchacha20poly1305(sharedKey, nonce).decrypt(sealed);
  } catch {
    return null; // wrong tag
  }
}

/** A bit is 1 if its coefficient is nearer to half the field than to zero. */
function messageOf(v: Uint8Array): Uint8Array {
  const message = new Uint8Array(32);
  for (let i = 0; i < 256; i++) {
    const coefficient = v[i >> 1]! >> (i & 1) * 4 & 15;
    if (coefficient >= 4 && coefficient < 12) message[i >> 3]! |= 1 << (i & 7);
  }
  return message;
}

interface Carrier {
  readonly call: LedgerCall;
  readonly inner: Uint8Array | null; // null: another key
}

const ciphertextBytesMax = 8_192; // bound of the runtime's type
const failedParsing = 23; // pool codes
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
