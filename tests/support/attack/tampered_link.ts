/**
 * An attacker between a node and its orchestrator who can do anything to frames that a network can, and repairs their
 * checksums.
 *
 * The attacker sees every frame from the hello on and knows the protocol, but has no key. Owns: the position. Each test
 * decides the attack.
 */

import { writeChecksums } from "../../../net/messages/frame.ts";
import type { Dial, DialHandler, Wire } from "../../../net/links/wire.ts";

type Way = "toHub" | "toNode";

/** The fate of a frame: the frames that are delivered instead. */
export type Tamper = (frame: Uint8Array, way: Way) => readonly Uint8Array[];

export class TamperedLink {
  readonly seen: Record<Way, Uint8Array[]> = { toHub: [], toNode: [] }; // as they were sent, on all links
  tamper: Tamper = (frame) => [frame];
  #wire: Wire | null = null;
  #handler: DialHandler | null = null;

  /** Every dial goes through him. */
  over(inner: Dial): Dial {
    return (url, handler) => {
      const wire = inner(url, {
        opened: () => handler.opened(),
        frame: (bytes) => this.#carry(bytes, "toNode"),
        closed: (reason) => handler.closed(reason),
      });
      this.#wire = wire;
      this.#handler = handler;
      return {
        get bufferedBytes() {
          return wire.bufferedBytes;
        },
        send: (frame) => this.#carry(frame, "toHub"),
        close: (reason) => wire.close(reason),
        pause: () => wire.pause(),
        resume: () => wire.resume(),
      };
    };
  }

  /** Sends a frame of his own. */
  inject(frame: Uint8Array, way: Way): void {
    if (way === "toHub") this.#wire?.send(frame);
    else this.#handler?.frame(frame.slice());
  }

  #carry(bytes: Uint8Array, way: Way): void {
    this.seen[way].push(bytes.slice());
    for (const frame of this.tamper(bytes.slice(), way)) this.inject(frame, way);
  }
}

/** The frame with other bytes, and checksums that fit them. */
export function forged(frame: Uint8Array, change: (bytes: Uint8Array) => void): Uint8Array {
  const bytes = frame.slice();
  change(bytes);
  writeChecksums(bytes);
  return bytes;
}
