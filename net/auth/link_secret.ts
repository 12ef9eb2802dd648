/**
 * The secret that a node and its orchestrator agree on without sending it, and proofs and keys from it.
 *
 * Signed Diffie-Hellman, after ISO/IEC 9798-3 (proved sound by Canetti and Krawczyk, Eurocrypt 2001), with one X25519
 * key (RFC 7748) for each hello. The secret is HKDF-SHA-256 (RFC 5869) of the shared value, salted with the hash of
 * public keys, addresses and nonces; proofs are HMAC-SHA-256 (RFC 2104). Key and secret are private fields, so no log
 * or JSON shows them.
 */

import { Buffer } from "node:buffer";
import {
  createHash,
  createHmac,
  createPrivateKey,
  createPublicKey,
  diffieHellman,
  hkdfSync,
  type KeyObject,
  timingSafeEqual,
} from "node:crypto";
import type { Random } from "../timers.ts";

export const secretBytes = 32;

export class LinkSecret {
  readonly #bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  proofOf(message: Uint8Array): Uint8Array {
    return createHmac("sha256", this.#bytes).update(message).digest();
  }

  proves({ message, proof }: { message: Uint8Array; proof: Uint8Array }): boolean {
    const expected = this.proofOf(message);
    return proof.length === expected.length && timingSafeEqual(proof, expected);
  }

  derive({ purpose, transcript }: { purpose: string; transcript: Uint8Array }): Uint8Array {
    const salt = createHash("sha256").update(transcript).digest();
    return new Uint8Array(hkdfSync("sha256", this.#bytes, salt, purpose, secretBytes));
  }

  /** Used only to seal it into a ticket. */
  bytes(): Uint8Array {
    return this.#bytes;
  }
}

export class KeyShare {
  readonly publicKey: Uint8Array;
  readonly #privateKey: KeyObject;

  constructor(random: Random) {
    this.#privateKey = createPrivateKey({
      key: Buffer.concat([privatePrefix, random.bytes(32)]),
      format: "der",
      type: "pkcs8",
    });
    this.publicKey = createPublicKey(this.#privateKey as never).export({ format: "der", type: "spki" }).subarray(-32);
  }

  /** Null: the other key is a low-order point, with which anyone computes the same result. */
  agree({ publicKey, transcript }: { publicKey: Uint8Array; transcript: Uint8Array }): LinkSecret | null {
    const other = createPublicKey({ key: Buffer.concat([publicPrefix, publicKey]), format: "der", type: "spki" });
    let shared: Uint8Array;
    try {
      shared = diffieHellman({ privateKey: this.#privateKey, publicKey: other });
    } catch {
      return null; // the library throws where RFC 7748 requires a check for zeros
    }
    const salt = createHash("sha256").update(transcript).digest();
    return new LinkSecret(new Uint8Array(hkdfSync("sha256", shared, salt, "iota link secret", secretBytes)));
  }
}

/** The RFC 8410 prefixes of an X25519 key, before its 32 bytes. */
const privatePrefix = Uint8Array.fromHex("302e020100300506032b656e04220420");
const publicPrefix = Uint8Array.fromHex("302a300506032b656e032100");
