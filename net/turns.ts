/**
 * Long work on a thread that also serves links, in turns of at most about 10 ms on a slow machine.
 *
 * The thread has one queue of turns. The pause is a timer, because immediates run one after another before Deno polls
 * its sockets (measured: an echo took 247 ms between immediates of 4 ms, 12 ms between timers).
 */

import type { LongWork } from "../core/long_work.ts";

interface Work {
  readonly total: number;
  readonly unit: number;
  readonly onProgress?: (done: number) => void;
}

let queue: Promise<void> = Promise.resolve();
let waiting = 0;

/** Resolves after all pending events have been served, and after earlier callers. */
export function nextTurn(): Promise<void> {
  waiting += 1;
  queue = queue.then(() => new Promise((resolve) => setTimeout(resolve, 0))).then(() => void (waiting -= 1));
  return queue;
}

/** Jobs that pause between two of their turns; virtual time must not advance meanwhile. */
export const turnsWaiting = (): number => waiting;

/** [start, end) of each unit, in order; work of a single unit takes no turn. */
export async function inTurns(
  { total, unit, onProgress }: Work,
  body: (start: number, end: number) => void,
): Promise<void> {
  for (let start = 0; start < total; start += unit) {
    if (start > 0) await nextTurn();
    const end = Math.min(total, start + unit);
    body(start, end);
    onProgress?.(end);
  }
}

export async function workInTurns<Result>(work: LongWork<Result>): Promise<Result> {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
    await nextTurn();
  }
}

export async function* piecesInTurns(bytes: Uint8Array, pieceBytes: number): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += pieceBytes) {
    if (start > 0) await nextTurn();
    yield bytes.subarray(start, start + pieceBytes);
  }
}
