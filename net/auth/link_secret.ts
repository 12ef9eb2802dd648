/**
 * A secret that one node and its hub share, and how they come to it without ever sending it.
 *
 * Signed Diffie-Hellman, after ISO/IEC 9798-3 (proved sound by Canetti and Krawczyk, Eurocrypt 2001): each side draws an
 * X25519 key (RFC 7748) for one hello; the hello's signatures cover both public keys, both addresses and both nonces; the
 * secret is HKDF-SHA-256 (RFC 5869) of what both compute, salted with the hash of all of these. Who listens learns nothing of
 * it, and who changes a key breaks a signature. Owns: the key of one hello, the secret, proofs by HMAC-SHA-256 (RFC 2104), keys derived from it.
 * Refuses: signatures (hello.ts), tickets (ticket.ts). Invariants: both are private fields, so no log or JSON shows them; each
 * kind of message that is proven begins with its own words, so that a proof of one is none of another.
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

  /** A key for one purpose and one exchange. */
  derive({ purpose, transcript }: { purpose: string; transcript: Uint8Array }): Uint8Array {
    const salt = createHash("sha256").update(transcript).digest();
    return new Uint8Array(hkdfSync("sha256", this.#bytes, salt, purpose, secretBytes));
  }

  /** Only for sealing it into a ticket. */
  bytes(): Uint8Array {
    return this.#bytes;
  }
}

/** A key pair for one hello. */
export class KeyShare {
  readonly publicKey: Uint8Array; // 32 bytes
  readonly #privateKey: KeyObject;

  constructor(random: Random) {
    this.#privateKey = createPrivateKey({
      key: Buffer.concat([privatePrefix, random.bytes(32)]),
      format: "der",
      type: "pkcs8",
    });
    this.publicKey = createPublicKey(this.#privateKey as never).export({ format: "der", type: "spki" }).subarray(-32);
  }

  /** Null: the other's key is one of the few points that give everybody the same result, so nobody's secret. */
  agree({ publicKey, transcript }: { publicKey: Uint8Array; transcript: Uint8Array }): LinkSecret | null {
    const other = createPublicKey({ key: Buffer.concat([publicPrefix, publicKey]), format: "der", type: "spki" });
    let shared: Uint8Array;
    try {
      shared = diffieHellman({ privateKey: this.#privateKey, publicKey: other });
    } catch {
      return null; // the library throws where RFC 7748 asks to check for zeros
    }
    const salt = createHash("sha256").update(transcript).digest();
    return new LinkSecret(new Uint8Array(hkdfSync("sha256", shared, salt, "iota link secret", secretBytes)));
  }
}

/** What RFC 8410 puts before the 32 bytes of a private and of a public X25519 key. */
const privatePrefix = Uint8Array.fromHex("302e020100300506032b656e04220420");
const publicPrefix = Uint8Array.fromHex("302a300506032b656e032100");
