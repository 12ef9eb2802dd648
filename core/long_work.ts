/**
 * Long work on large vectors: a generator that pauses every few milliseconds, so that its caller can serve links in between
 * (`net/turns.ts`).
 *
 * Invariant: work that fits one unit never pauses. Out of scope: what the caller does during a pause.
 */

/** Each `yield` is a point at which a turn may end. */
export type LongWork<Result> = Generator<undefined, Result, undefined>;

/** Calls `body` for [start, end) of each unit, in order. A unit should take a few milliseconds. */
export function* inUnits(
  { total, unit }: { readonly total: number; readonly unit: number },
  body: (start: number, end: number) => void,
): LongWork<void> {
  for (let start = 0; start < total; start += unit) {
    if (start > 0) yield;
    body(start, Math.min(total, start + unit));
  }
}

/** Runs the work without a pause: for tests and short vectors. */
export function atOnce<Result>(work: LongWork<Result>): Result {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
  }
}
