/** A dial whose links a test can break: works over any transport, because it sits on the wire. */

import type { Dial, DialHandler, Wire } from "../../../net/links/wire.ts";

interface Link {
  readonly wire: Wire;
  readonly handler: DialHandler;
}

export class LinkControl {
  readonly #inner: Dial;
  #link: Link | null = null;
  #held: Uint8Array[] | null = null;
  /** Dials fail while set. */
  unreachable = false;
  /** Frames vanish, both ways, while the link looks healthy: what is in flight when a cable is pulled. */
  swallowing = false;
  /** Every frame arrives twice, both ways. */
  duplicating = false;
  /** One byte of every frame changes on the way, both ways. */
  damaging = false;

  constructor(inner: Dial) {
    this.#inner = inner;
  }

  readonly dial: Dial = (url, handler) => {
    if (this.unreachable) {
      queueMicrotask(() => handler.closed("unreachable"));
      return { bufferedBytes: 0, send: () => {}, close: () => {}, pause: () => {}, resume: () => {} };
    }
    const live = () => this.#link !== null && this.#link.handler === handler;
    const wire = this.#inner(url, {
      opened: () => live() && handler.opened(),
      frame: (bytes) => {
        for (let copy = this.#copies(); copy > 0 && live(); copy--) handler.frame(this.#carried(bytes));
      },
      closed: (reason) => live() && handler.closed(reason),
    });
    this.#link = { wire, handler };
    return {
      get bufferedBytes() {
        return wire.bufferedBytes;
      },
      send: (frame) => {
        if (this.#held !== null) this.#held.push(frame.slice());
        else for (let copy = this.#copies(); copy > 0 && live(); copy--) wire.send(this.#carried(frame));
      },
      close: (reason) => wire.close(reason),
      pause: () => wire.pause(),
      resume: () => wire.resume(),
    };
  };

  /** Ends the link as a broken cable does: both sides learn it, nothing in flight arrives at the node. */
  cut(): void {
    const link = this.#link;
    this.#link = null;
    this.swallowing = false;
    this.#held = null;
    if (link === null) return;
    link.wire.close("cut");
    queueMicrotask(() => link.handler.closed("cut"));
  }

  /** Keeps what the node sends until `release`. */
  hold(): void {
    this.#held = [];
  }

  release(): void {
    const held = this.#held ?? [];
    this.#held = null;
    for (const frame of held) this.#link?.wire.send(frame);
  }

  #carried(frame: Uint8Array): Uint8Array {
    if (!this.damaging) return frame;
    const damaged = frame.slice();
    damaged[damaged.length - 1]! ^= 0x10;
    return damaged;
  }

  #copies(): number {
    if (this.swallowing) return 0;
    return this.duplicating ? 2 : 1;
  }
}
