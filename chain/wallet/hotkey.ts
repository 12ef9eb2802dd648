/**
 * A key in memory: an sr25519 pair that signs, and verification of others' signatures.
 *
 * Owns: the secret (a private field: no inspection, JSON or log shows it). Rejects: keys that fail their own
 * sign-and-verify test. `HotkeyPair` has the shape of net's `Signer`, which does not know this folder, and of
 * `ChainSigner`; a coldkey is the same kind of pair and leaves this folder only as a `ChainSigner`.
 *
 * A secret has two encodings. Schnorrkel's canonical bytes, used in keyfiles, hold the scalar itself; the half-ed25519
 * form, required by the library, holds it times the cofactor 8. Mixing them up gives signatures that verify nowhere.
 * Library: @scure/sr25519 is plain JavaScript and imports in 12 ms where @polkadot/util-crypto needs 85 to 100 ms (Deno
 * 2.9.6); a signature takes about 1 ms, a check 1.5 ms.
 */

import { hkdfSync } from "node:crypto";
import { getPublicKey, HDKD, secretFromSeed, sign, verify } from "@scure/sr25519";
import type { NodeId } from "../../core/ids.ts";
import { decodeAddress, encodeAddress } from "./ss58.ts";

export const secretKeyBytes = 64; // scalar, nonce
export const miniSecretBytes = 32;
const signatureBytes = 64;
const scalarBytes = 32;
const derivedKeyBytes = 32;
const groupOrder = 2n ** 252n + 27742317777372353535851937790883648493n; // of ristretto255

export class HotkeyPair {
  readonly address: NodeId;
  readonly publicKey: Uint8Array;
  readonly #secretKey: Uint8Array; // half-ed25519 form

  /** `secretKey` in half-ed25519 form, as made by the functions below. */
  constructor(secretKey: Uint8Array) {
    this.#secretKey = secretKey;
    this.publicKey = getPublicKey(secretKey);
    this.address = encodeAddress(this.publicKey);
  }

  sign(message: Uint8Array): Uint8Array {
    return sign(this.#secretKey, message);
  }

  /** The child at one junction of a derivation path. A soft child's nonce is random, so its secret bytes differ each time. */
  derive({ chainCode, isHard }: { chainCode: Uint8Array; isHard: boolean }): HotkeyPair {
    const child = isHard ? HDKD.secretHard(this.#secretKey, chainCode) : HDKD.secretSoft(this.#secretKey, chainCode);
    return new HotkeyPair(child);
  }

  /**
   * 32 secret bytes that only the holder of this hotkey can derive, reproducibly: HKDF-SHA-256 (RFC 5869) of the
   * secret, different for each purpose, and revealing nothing about the secret. Needed because signatures are
   * randomized and thus not reproducible.
   */
  deriveKey(purpose: string): Uint8Array {
    const salt = new TextEncoder().encode("iota hotkey");
    return new Uint8Array(hkdfSync("sha256", this.#secretKey, salt, purpose, derivedKeyBytes));
  }

  /** The 64 bytes a keyfile stores under `privateKey`. Only for writing keyfiles. */
  canonicalSecretKey(): Uint8Array {
    return toCanonical(this.#secretKey);
  }
}

export function hotkeyOfMiniSecret(miniSecret: Uint8Array): HotkeyPair {
  return new HotkeyPair(secretFromSeed(miniSecret));
}

/** Null if the first half is not a scalar of the group, so the bytes are not a key. */
export function hotkeyOfCanonicalSecretKey(secretKey: Uint8Array): HotkeyPair | null {
  const scalar = BigInt(`0x${secretKey.slice(0, scalarBytes).reverse().toHex()}`); // little-endian
  return scalar >= 1n && scalar < groupOrder ? new HotkeyPair(fromCanonical(secretKey)) : null;
}

/** In polkadot-js' export format. Null if the first half is not a scalar of the group. */
export function hotkeyOfHalfEd25519SecretKey(secretKey: Uint8Array): HotkeyPair | null {
  return hotkeyOfCanonicalSecretKey(toCanonical(secretKey));
}

interface SignedMessage {
  readonly address: string;
  readonly message: Uint8Array;
  readonly signature: Uint8Array;
}

/** Whether the holder of `address` signed these bytes. Never throws: all three are untrusted. */
export function verifySignature({ address, message, signature }: SignedMessage): boolean {
  const publicKey = decodeAddress(address);
  if (publicKey === null || signature.length !== signatureBytes) return false;
  try {
    return verify(message, signature, publicKey);
  } catch {
    return false; // the library throws on bytes that are not a curve point or lack schnorrkel's marker bit
  }
}

/** A key that cannot verify its own signature is worse than none: every verifier would silently refuse it. */
export function selfTest(pair: HotkeyPair): boolean {
  const message = new TextEncoder().encode("iota key self-test");
  return verifySignature({ address: pair.address, message, signature: pair.sign(message) });
}

/** Scalar times 8, little-endian; the nonce half is the same in both forms. */
function fromCanonical(canonical: Uint8Array): Uint8Array {
  const result = canonical.slice();
  let carry = 0;
  for (let i = 0; i < scalarBytes; i++) {
    const shifted = (canonical[i]! << 3) | carry;
    result[i] = shifted & 255;
    carry = shifted >> 8;
  }
  return result;
}

function toCanonical(halfEd25519: Uint8Array): Uint8Array {
  const result = halfEd25519.slice();
  let carry = 0;
  for (let i = scalarBytes - 1; i >= 0; i--) {
    const byte = halfEd25519[i]!;
    result[i] = (byte >> 3) | carry;
    carry = (byte << 5) & 255;
  }
  return result;
}
