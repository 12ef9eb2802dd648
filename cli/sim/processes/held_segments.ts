/**
 * The counts of segments a process holds, without their bytes: releasing a segment that is not held, or reading a released one,
 * fails the run.
 */

import { assert } from "../../../core/assert.ts";
import type { BlobRef } from "../../../core/ids.ts";
import type { Dice } from "../dice.ts";

export class HeldSegments {
  #holders = new Map<string, number>();
  #count = 0;

  /** Holders, summed over segments. */
  get count(): number {
    return this.#count;
  }

  hold(refs: readonly BlobRef[]): void {
    for (const { hash } of refs) this.#holders.set(hash, (this.#holders.get(hash) ?? 0) + 1);
    this.#count += refs.length;
  }

  read(ref: BlobRef): BlobRef {
    assert(this.#holders.has(ref.hash), `Cannot read segment ${ref.hash} as it must be held`);
    return ref;
  }

  release(refs: readonly BlobRef[]): void {
    for (const { hash } of refs) {
      const holders = this.#holders.get(hash);
      assert(holders !== undefined, `Cannot release segment ${hash} as it must be held`);
      if (holders === 1) this.#holders.delete(hash);
      else this.#holders.set(hash, holders - 1);
    }
    this.#count -= refs.length;
  }

  copy(): HeldSegments {
    const copy = new HeldSegments();
    copy.#holders = new Map(this.#holders);
    copy.#count = this.#count;
    return copy;
  }

  equals(other: HeldSegments): boolean {
    if (this.#count !== other.#count || this.#holders.size !== other.#holders.size) return false;
    for (const [hash, holders] of this.#holders) if (other.#holders.get(hash) !== holders) return false;
    return true;
  }
}

/** A killed process loses all its segments; a stopped one has saved them; a half-written file has some. */
export function lostWithProcess(dice: Dice, named: readonly BlobRef[]): BlobRef[] {
  const kind = dice.below(3);
  if (kind === 0) return [];
  const hashes = new Set(named.map(({ hash }) => hash).filter(() => kind === 1 || dice.below(2) === 0));
  return named.filter(({ hash }) => hashes.has(hash));
}
