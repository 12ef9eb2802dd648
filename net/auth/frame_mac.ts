/**
 * Message authentication for the frames of one link: HMAC-SHA-256 (RFC 2104), truncated to half its length.
 *
 * It covers the head of a frame: session number, acknowledgement, header, and the names of its segments, which decoding
 * checks. Each direction of each link has its own key, so changed, forged, reflected or replayed frames fail. A frame
 * must be sealed last.
 */

import { createHash } from "node:crypto";
import { present } from "../../core/assert.ts";
import { headOf, macBytes, macStart } from "../messages/frame.ts";
import { type HelloClaim, linkText } from "./hello_records.ts";
import type { LinkSecret } from "./link_secret.ts";

const macEnd = macStart + macBytes;
const blockBytes = 64; // of SHA-256
const digestBytes = 32;

export interface LinkMacs {
  readonly outgoing: FrameMac;
  readonly incoming: FrameMac;
}

export class FrameMac {
  readonly #inner: Uint8Array;
  readonly #outer: Uint8Array; // followed by room for the inner hash
  readonly #expected = new Uint8Array(macBytes);

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

  /** In hexadecimal: digests in Buffers and the library's own HMAC take three times as long. */
  #macOf(head: Uint8Array): string {
    const inner = createHash("sha256").update(this.#inner)
      .update(head.subarray(0, macStart)).update(head.subarray(macEnd)).digest("hex");
    this.#outer.subarray(blockBytes).setFromHex(inner);
    return createHash("sha256").update(this.#outer).digest("hex").slice(0, 2 * macBytes);
  }
}

/** `claim` holds both nonces of this link's hello, so no two links have the same keys. */
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
