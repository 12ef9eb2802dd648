/**
 * Message authentication for the frames of one link: frames after the hello are as authentic as the hello itself.
 *
 * HMAC-SHA-256 (RFC 2104), truncated to half its length, over the head of a frame without the MAC itself: session
 * number, acknowledgement, header, and the names of its segments, which decoding checks. Each direction of each link
 * has its own key, derived from the shared secret and both nonces of this hello. A frame that was changed, forged,
 * reflected or replayed from another link therefore fails, and the session's numbers detect duplicates, reordering and
 * gaps. Owns: keys and MACs. Out of scope: secrecy (use TLS), handling a wrong MAC (channel.ts treats it as damage).
 * Invariant: a frame is sealed last, because the MAC covers every byte of its head.
 */

import { createHash } from "node:crypto";
import { present } from "../../core/assert.ts";
import { headOf, macBytes, macStart } from "../messages/frame.ts";
import { type HelloClaim, linkText } from "./hello_records.ts";
import type { LinkSecret } from "./link_secret.ts";

const macEnd = macStart + macBytes;
const blockBytes = 64; // of SHA-256
const digestBytes = 32;

/** Both directions, from one side's point of view. */
export interface LinkMacs {
  readonly outgoing: FrameMac;
  readonly incoming: FrameMac;
}

export class FrameMac {
  readonly #inner: Uint8Array; // the key's block for the inner hash
  readonly #outer: Uint8Array; // the key's block for the outer hash, followed by room for the inner hash
  readonly #expected = new Uint8Array(macBytes);

  /** `key`: at most one block. */
  constructor(key: Uint8Array) {
    this.#inner = padded(key, 0x36);
    this.#outer = new Uint8Array(blockBytes + digestBytes);
    this.#outer.set(padded(key, 0x5c));
  }

  seal(frame: Uint8Array): void {
    const head = present(headOf(frame), "an encoded frame has its head");
    head.subarray(macStart, macEnd).setFromHex(this.#macOf(head));
  }

  isSealed(frame: Uint8Array): boolean {
    const head = headOf(frame);
    if (head === null) return false;
    this.#expected.setFromHex(this.#macOf(head));
    let difference = 0; // over all bytes, so that timing leaks nothing
    for (let at = 0; at < macBytes; at++) difference |= this.#expected[at]! ^ head[macStart + at]!;
    return difference === 0;
  }

  /** In hexadecimal, because digests in Buffers and the library's own HMAC take three times as long. */
  #macOf(head: Uint8Array): string {
    const inner = createHash("sha256").update(this.#inner)
      .update(head.subarray(0, macStart)).update(head.subarray(macEnd)).digest("hex");
    this.#outer.subarray(blockBytes).setFromHex(inner);
    return createHash("sha256").update(this.#outer).digest("hex").slice(0, 2 * macBytes);
  }
}

/** `claim` is the link's hello: with both nonces, no two links have the same keys. */
export function linkMacs(
  { secret, claim, side }: { secret: LinkSecret; claim: HelloClaim; side: "hub" | "node" },
): LinkMacs {
  const mac = (purpose: string) => new FrameMac(secret.derive({ purpose, transcript: linkText(claim) }));
  const toHub = mac("iota frames, node to hub");
  const toNode = mac("iota frames, hub to node");
  return side === "hub" ? { outgoing: toNode, incoming: toHub } : { outgoing: toHub, incoming: toNode };
}

function padded(key: Uint8Array, pad: number): Uint8Array {
  return Uint8Array.from({ length: blockBytes }, (_, at) => (key[at] ?? 0) ^ pad);
}
