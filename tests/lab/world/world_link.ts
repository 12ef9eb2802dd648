/**
 * One miner's link to the orchestrator of a simulated swarm, in virtual time: frames of its session and blobs of
 * merges, as late and as slowly as the shape of `iota swarm --links` says. Out of scope: jitter and resets, which only
 * repeat by a seed.
 */

import type { Dial, Wire } from "../../../net/links/wire.ts";
import { Direction, type LinkShape } from "../../../cli/swarm/chaos/link_shape.ts";
import type { BlobAccess } from "../../../cli/roles/blob_access.ts";
import type { Clock } from "./clock.ts";

export class WorldLink {
  readonly #shape: LinkShape;
  readonly #clock: Clock;
  readonly #up: Direction;
  readonly #down: Direction;

  constructor(shape: LinkShape, clock: Clock) {
    this.#shape = shape;
    this.#clock = clock;
    this.#up = new Direction(shape);
    this.#down = new Direction(shape);
  }

  dial(dial: Dial): Dial {
    return (url, handler) => {
      const wire = dial(url, {
        opened: () => handler.opened(),
        closed: (reason, cure) => void this.#pass(this.#down, 0).then(() => handler.closed(reason, cure)),
        frame: (bytes) => void this.#pass(this.#down, bytes.length).then(() => handler.frame(bytes)),
      });
      const shaped: Wire = {
        bufferedBytes: 0,
        send: (frame) => {
          const copy = frame.slice();
          void this.#pass(this.#up, copy.length).then(() => wire.send(copy));
        },
        close: (reason) => void this.#pass(this.#up, 0).then(() => wire.close(reason)),
        pause: () => wire.pause(),
        resume: () => wire.resume(),
      };
      return shaped;
    };
  }

  blobs(blobs: BlobAccess): BlobAccess {
    return {
      put: async (bytes) => {
        await this.#stream(this.#up, bytes.length);
        return await blobs.put(bytes);
      },
      get: async (ref, from) => {
        await this.#pass(this.#up, requestBytes);
        await this.#stream(this.#down, ref.bytes);
        return await blobs.get(ref, from);
      },
    };
  }

  /** In pieces that wait for one another, so that frames come in between. */
  async #stream(direction: Direction, bytes: number): Promise<void> {
    for (let left = bytes; left > pieceBytes; left -= pieceBytes) {
      const atMs = direction.send(pieceBytes, { nowMs: this.#clock.nowMs, unit: 0 });
      await this.#clock.pass(Math.max(0, atMs - this.#shape.delayMs - this.#clock.nowMs));
    }
    await this.#pass(direction, bytes % pieceBytes || Math.min(bytes, pieceBytes));
  }

  #pass(direction: Direction, bytes: number): Promise<void> {
    const atMs = direction.send(bytes, { nowMs: this.#clock.nowMs, unit: 0 });
    return this.#clock.pass(atMs - this.#clock.nowMs);
  }
}

const requestBytes = 200;
const pieceBytes = 64 * 1024;
