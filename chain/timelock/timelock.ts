/**
 * Timelock encryption as in Subtensor's `tle` crate. Imports the pairing curve, so load it lazily.
 *
 * Identity-based encryption (Boneh-Franklin with the Fujisaki-Okamoto transform) of an AES-256-GCM key to the round's
 * identity. Layout, lengths u64 little-endian: U (G2, 96 bytes) | vec(V) | vec(W) | vec(body) | vec("AES_GCM_"), where
 * body = vec(ciphertext and tag) | vec(nonce). Measured: 35 ms to encrypt (first time 150 ms), 21 ms to decrypt.
 */

import { gcm } from "@noble/ciphers/aes.js";
import { bls12_381 } from "@noble/curves/bls12-381.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { assert } from "../../core/assert.ts";
import { type Parsed, parsed, refused } from "../../core/fault.ts";
import { concatBytes, ScaleReader, scaleU64 } from "../scale.ts";
import type { Beacon } from "./beacon.ts";
import { hashedIdentity } from "./pulse.ts";

const { G1, G2, fields, pairing } = bls12_381;
type GtElement = ReturnType<typeof pairing>;

const keyBytes = 32;
const nonceBytes = 12;
const pointBytes = 96;
const fieldBytes = 48;
const suite = new TextEncoder().encode("AES_GCM_");

/** The AES key, the seed of sigma, the nonce. Never use them twice. */
export const timelockRandomBytes = keyBytes + 32 + nonceBytes;

export function encryptTimelocked(options: {
  readonly plaintext: Uint8Array;
  readonly round: bigint;
  readonly beacon: Beacon;
  readonly random: Uint8Array; // `timelockRandomBytes` bytes
}): Uint8Array {
  const { plaintext, round, beacon, random } = options;
  assert(
    random.length === timelockRandomBytes,
    `Cannot encrypt as 'random' must have ${timelockRandomBytes} bytes: current value is ${random.length}`,
  );
  const key = random.subarray(0, keyBytes);
  const sigma = sha256(random.subarray(keyBytes, keyBytes + 32));
  const nonce = random.subarray(keyBytes + 32);
  const r = scalarOf(sigma, key);
  const shared = pairing(hashedIdentity(round), G2.Point.fromBytes(beacon.publicKey).multiply(r));
  return concatBytes(
    G2.Point.BASE.multiply(r).toBytes(true),
    vector(xor(sigma, sha256(bytesOfGt(shared)))),
    vector(xor(key, sha256(sigma))),
    vector(concatBytes(vector(gcm(key, nonce).encrypt(plaintext)), vector(nonce))),
    vector(suite),
  );
}

export function decryptTimelocked(options: { ciphertext: Uint8Array; signature: Uint8Array }): Parsed<Uint8Array> {
  const parts = partsOf(options.ciphertext);
  if (parts === null) return refused("malformedMessage", "These bytes are not a timelocked ciphertext");
  try {
    const u = G2.Point.fromBytes(parts.u);
    const shared = pairing(G1.Point.fromBytes(options.signature), u);
    const sigma = xor(parts.v, sha256(bytesOfGt(shared)));
    const key = xor(parts.w, sha256(sigma));
    if (!G2.Point.BASE.multiply(scalarOf(sigma, key)).equals(u)) {
      return refused(
        "unauthenticated",
        "This pulse does not open the ciphertext: it belongs to another round or beacon",
      );
    }
    return parsed(gcm(key, parts.nonce).decrypt(parts.sealed));
  } catch (error) { // points off the curve, a wrong tag
    return refused("malformedMessage", `Cannot open the ciphertext: ${error instanceof Error ? error.message : error}`);
  }
}

/** r = sha256(sigma, key) as a big-endian number modulo the group order. */
function scalarOf(sigma: Uint8Array, key: Uint8Array): bigint {
  const digest = sha256(concatBytes(sigma, key));
  return digest.reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n) % fields.Fr.ORDER;
}

/** arkworks' order: twelve little-endian coordinates, the lowest coefficient first at every level of the tower. */
function bytesOfGt(element: GtElement): Uint8Array {
  const bytes = new Uint8Array(12 * fieldBytes);
  let offset = 0;
  for (const sextic of [element.c0, element.c1]) {
    for (const quadratic of [sextic.c0, sextic.c1, sextic.c2]) {
      for (const coordinate of [quadratic.c0, quadratic.c1]) {
        bytes.set(fields.Fp.toBytes(coordinate).toReversed(), offset);
        offset += fieldBytes;
      }
    }
  }
  return bytes;
}

const vector = (bytes: Uint8Array): Uint8Array => concatBytes(scaleU64(BigInt(bytes.length)), bytes);
const xor = (a: Uint8Array, b: Uint8Array): Uint8Array => a.map((byte, i) => byte ^ b[i]!);

interface Parts {
  readonly u: Uint8Array;
  readonly v: Uint8Array;
  readonly w: Uint8Array;
  readonly sealed: Uint8Array;
  readonly nonce: Uint8Array;
}

function partsOf(ciphertext: Uint8Array): Parts | null {
  const reader = new ScaleReader(ciphertext);
  const u = reader.take(pointBytes), v = takeVector(reader), w = takeVector(reader), body = takeVector(reader);
  const name = takeVector(reader);
  if (u === null || v?.length !== 32 || w?.length !== keyBytes || body === null || name === null) return null;
  if (name.length !== suite.length || name.some((byte, i) => byte !== suite[i])) return null;
  const inner = new ScaleReader(body);
  const sealed = takeVector(inner), nonce = takeVector(inner);
  return sealed === null || nonce?.length !== nonceBytes ? null : { u, v, w, sealed, nonce };
}

function takeVector(reader: ScaleReader): Uint8Array | null {
  const length = reader.u64();
  return length === null || length > BigInt(reader.remainingBytes) ? null : reader.take(Number(length));
}
