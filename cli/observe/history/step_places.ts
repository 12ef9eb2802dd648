/**
 * Where in a run's log each step was closed, to compare runs at one step. A rollback forgets the later steps. A long
 * run keeps every `stride` steps.
 */

import type { StampedRecord } from "../../../core/view/view_record.ts";

const mostPlaces = 2 ** 16;

interface Place {
  readonly step: number;
  readonly sequence: number;
}

export class StepPlaces {
  #places: Place[] = [];
  #last = 0; // sequence
  #stride = 1;

  /** A smaller sequence begins another log. */
  take({ sequence, record }: StampedRecord): void {
    if (sequence <= this.#last) [this.#places, this.#stride] = [[], 1];
    this.#last = sequence;
    if (record.type === "rewound") return this.#forget(record.toStep);
    if (record.type === "mergeRetaken") return this.#forget(record.step);
    if (record.type !== "stepClosed") return;
    this.#forget(record.step - 1);
    if (record.step % this.#stride !== 0) return;
    this.#places.push({ step: record.step, sequence });
    if (this.#places.length <= mostPlaces) return;
    this.#stride *= 2;
    this.#places = this.#places.filter(({ step }) => step % this.#stride === 0);
  }

  /** The last moment before a later step was closed. */
  sequenceOf(step: number): number {
    const next = this.#places[this.#after(step)];
    return next === undefined ? this.#last : next.sequence - 1;
  }

  #forget(step: number): void {
    this.#places.length = this.#after(step);
  }

  #after(step: number): number {
    let [from, to] = [0, this.#places.length];
    while (from < to) {
      const middle = (from + to) >> 1;
      if (this.#places[middle]!.step > step) to = middle;
      else from = middle + 1;
    }
    return from;
  }
}
