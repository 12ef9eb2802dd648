/** Subscribers to new blocks, in order of subscription. Every block is best and final at once. */

import type { LoggedBlock } from "./block_log.ts";

export type HeadListener = (block: LoggedBlock) => void;

export class Heads {
  readonly #listeners = new Set<HeadListener>();

  listen(listener: HeadListener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  announce(block: LoggedBlock): void {
    for (const listener of [...this.#listeners]) listener(block);
  }
}
