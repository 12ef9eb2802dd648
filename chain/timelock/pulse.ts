/**
 * A drand beacon's pulses. Imports the pairing curve, so load it lazily.
 *
 * Scheme bls-unchained-g1-rfc9380: signature = secret x H(sha256(round, big-endian)), in G1, 48 bytes; public key in
 * G2.
 */

import { bls12_381 } from "@noble/curves/bls12-381.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { assert } from "../../core/assert.ts";
import type { Beacon } from "./beacon.ts";

const domain = "BLS_SIG_BLS12381G1_XMD:SHA-256_SSWU_RO_NUL_";
const signatureBytes = 48;
const { shortSignatures } = bls12_381;

/** Signed by the pulse; timelocks are encrypted to it. */
function identityOf(round: bigint): Uint8Array {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigUint64(0, round);
  return sha256(bytes);
}

/** In G1. */
export const hashedIdentity = (round: bigint) => shortSignatures.hash(identityOf(round), domain);

export function isPulse(beacon: Beacon, pulse: { round: bigint; signature: Uint8Array }): boolean {
  if (pulse.signature.length !== signatureBytes) return false;
  try {
    return shortSignatures.verify(pulse.signature, hashedIdentity(pulse.round), beacon.publicKey);
  } catch {
    return false; // not a curve point
  }
}

/** The seed is at least 48 uniformly random bytes. */
export function ownBeacon(options: { seed: Uint8Array; genesisMs: number; periodMs: number }): {
  readonly beacon: Beacon;
  readonly secretKey: Uint8Array;
} {
  const { seed, genesisMs, periodMs } = options;
  assert(
    seed.length >= 48,
    `Cannot make a beacon as its seed must have at least 48 bytes: current value is ${seed.length}`,
  );
  const { secretKey, publicKey } = shortSignatures.keygen(seed);
  return { beacon: { publicKey: publicKey.toBytes(), genesisMs, periodMs }, secretKey };
}

export function makePulse(options: { secretKey: Uint8Array; round: bigint }): Uint8Array {
  return shortSignatures.sign(hashedIdentity(options.round), options.secretKey).toBytes();
}
