/**
 * Parameters of a miner's stage before drawn steps, from the step until they are shown as changes since their round's start.
 *
 * A copy holds the start of its own round, as a merge may follow before it is shown. Starts are never written to.
 */

import { present } from "../../../core/assert.ts";
import { encodeChange } from "../../../core/merge/shown_change.ts";
import { workInTurns } from "../../../net/turns.ts";

interface StateCopy {
  readonly start: Float32Array;
  readonly current: Float32Array;
}

export class StateCopies {
  readonly #copies = new Map<number, StateCopy>(); // by step

  keep(step: number, copy: StateCopy): void {
    this.#copies.set(step, copy);
  }

  /** The bytes that show it; the copy is dropped. */
  async take(step: number): Promise<Uint8Array> {
    const { start, current } = present(this.#copies.get(step), "a state is copied before it is shown");
    this.#copies.delete(step);
    return await workInTurns(encodeChange(start, current));
  }
}
