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

/** A run that goes back takes a step again, in another round. */
interface StepOfRound {
  readonly round: number;
  readonly step: number;
}

const keyOf = ({ round, step }: StepOfRound): string => `${round} ${step}`;

export class StateCopies {
  readonly #copies = new Map<string, StateCopy>();

  keep(at: StepOfRound, copy: StateCopy): void {
    this.#copies.set(keyOf(at), copy);
  }

  /** The bytes that show it; the copy is dropped. */
  async take(at: StepOfRound): Promise<Uint8Array> {
    const { start, current } = present(this.#copies.get(keyOf(at)), "a state is copied before it is shown");
    this.#copies.delete(keyOf(at));
    return await workInTurns(encodeChange(start, current));
  }
}
