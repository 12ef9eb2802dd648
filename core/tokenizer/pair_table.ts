/**
 * Which pairs of tokens merge, and into what: a hash table in flat arrays, because a vocabulary may have 280,000 merges.
 * The rank of a merge is its place in the list; a lower one comes first.
 */

import { assert } from "../assert.ts";
import { idLimit, pairKey } from "./bpe_model.ts";

export interface Merge {
  readonly left: number;
  readonly right: number;
  readonly made: number; // id
}

const free = -1;

export class PairTable {
  readonly #pairs: Float64Array; // by slot
  readonly #ranks: Int32Array; // by slot
  readonly #made: Uint32Array; // by rank
  readonly #mask: number;

  /** A pair that is listed twice has its last rank, as at Hugging Face. */
  constructor(merges: readonly Merge[]) {
    assert(merges.length < idLimit, `A tokenizer has fewer than ${idLimit} merges, and this one ${merges.length}`);
    const slots = 2 ** Math.ceil(Math.log2(2 * merges.length + 2));
    this.#mask = slots - 1;
    this.#pairs = new Float64Array(slots).fill(free);
    this.#ranks = new Int32Array(slots).fill(free);
    this.#made = Uint32Array.from(merges, ({ made }) => made);
    for (const [rank, { left, right }] of merges.entries()) {
      const slot = this.#slotOf(left, right);
      this.#pairs[slot] = pairKey(left, right);
      this.#ranks[slot] = rank;
    }
  }

  /** -1: they do not merge. */
  rankOf(left: number, right: number): number {
    return this.#ranks[this.#slotOf(left, right)]!;
  }

  made(rank: number): number {
    return this.#made[rank]!;
  }

  /** The pair's slot, or the free one where it would be. */
  #slotOf(left: number, right: number): number {
    const pair = pairKey(left, right);
    let slot = Math.imul(left, 0x9e3779b1) ^ Math.imul(right, 0x85ebca77);
    slot = (slot ^ (slot >>> 15)) & this.#mask;
    while (this.#pairs[slot] !== pair && this.#pairs[slot] !== free) slot = (slot + 1) & this.#mask;
    return slot;
  }
}
