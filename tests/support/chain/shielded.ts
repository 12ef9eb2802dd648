/**
 * Encrypts an extrinsic to the local chain's key, as Bittensor's SDK does for any key; the SDK's own bytes are in
 * tests/vectors.
 */

import { xchacha20poly1305 } from "@noble/ciphers/chacha.js";
import { sha3_256, sha3_512 } from "@noble/hashes/sha3.js";
import { concatBytes } from "../../../chain/scale.ts";
import { shieldKey } from "../../../chain/local/rpc/shield.ts";
import { twox128 } from "../../../chain/local/surface/xxhash.ts";

/** ML-KEM's v without noise, as the key's vector is zero; its u is not looked at. */
export function shieldedFor(plaintext: Uint8Array): Uint8Array {
  const message = crypto.getRandomValues(new Uint8Array(32));
  const v = new Uint8Array(128);
  for (let i = 0; i < 256; i++) if ((message[i >> 3]! >> (i & 7) & 1) === 1) v[i >> 1]! |= 8 << (i & 1) * 4;
  const encapsulated = concatBytes(new Uint8Array(960), v);
  const nonce = crypto.getRandomValues(new Uint8Array(24));
  const sharedKey = sha3_512(concatBytes(message, sha3_256(shieldKey))).subarray(0, 32);
  const sealed = xchacha20poly1305(sharedKey, nonce).encrypt(plaintext);
  const length = Uint8Array.of(encapsulated.length & 255, encapsulated.length >> 8);
  return concatBytes(twox128(shieldKey), length, encapsulated, nonce, sealed);
}
