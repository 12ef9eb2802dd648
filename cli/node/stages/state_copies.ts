/**
 * Parameters of a miner's stage before drawn steps, until they are opened as changes since their round's start. A copy
 * keeps that start, as a merge may come first. It goes after its upload, or when it is too old to be asked for.
 */

import { present } from "../../../core/assert.ts";
import { encodeChange } from "../../../core/update/shown_change.ts";
import { workInTurns } from "../../../net/turns.ts";

interface StateCopy {
  readonly start: Float32Array;
  readonly current: Float32Array;
}

/** A rollback repeats a step in another round. */
interface StepOfRound {
  readonly round: number;
  readonly step: number;
}

const keyOf = ({ round, step }: StepOfRound): string => `${round} ${step}`;

export class StateCopies {
  readonly #copies = new Map<string, StateCopy & Pick<StepOfRound, "round">>();

  keep(at: StepOfRound, copy: StateCopy): void {
    for (const [key, { round }] of this.#copies) if (round < at.round - 1) this.#copies.delete(key);
    this.#copies.set(keyOf(at), { ...copy, round: at.round });
  }

  async show<T>(at: StepOfRound, put: (bytes: Uint8Array) => Promise<T>): Promise<T> {
    const { start, current } = present(this.#copies.get(keyOf(at)), "a state is copied before it is uploaded");
    const shown = await put(await workInTurns(encodeChange(start, current)));
    this.#copies.delete(keyOf(at));
    return shown;
  }
}
