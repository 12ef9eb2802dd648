/**
 * Work on large vectors as core describes it: a generator that pauses after every few milliseconds, so that whoever runs it
 * can serve links in between (`net/turns.ts`).
 *
 * Invariant: work that fits one unit never pauses. Out of scope: who else gets the thread, and for how long.
 */

/** Run it to its end; each `yield` is a place where a turn may end. */
export type LongWork<Result> = Generator<undefined, Result, undefined>;

/** Calls `body` for [start, end) of each unit, in order. `unit`: what takes a few milliseconds. */
export function* inUnits(
  { total, unit }: { readonly total: number; readonly unit: number },
  body: (start: number, end: number) => void,
): LongWork<void> {
  for (let start = 0; start < total; start += unit) {
    if (start > 0) yield;
    body(start, Math.min(total, start + unit));
  }
}

/** Runs it without a pause: for tests, and for vectors known to be short. */
export function atOnce<Result>(work: LongWork<Result>): Result {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
  }
}
