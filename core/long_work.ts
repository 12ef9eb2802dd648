/**
 * Long work as a generator that pauses every few milliseconds, so that its caller can serve links in between
 * (`net/turns.ts`).
 */

export type LongWork<Result> = Generator<undefined, Result, undefined>;

/** Calls `body` for [start, end) of each unit, which should take a few milliseconds and never pauses. */
export function* inUnits(
  { total, unit }: { readonly total: number; readonly unit: number },
  body: (start: number, end: number) => void,
): LongWork<void> {
  for (let start = 0; start < total; start += unit) {
    if (start > 0) yield;
    body(start, Math.min(total, start + unit));
  }
}

/** For tests and short vectors. */
export function atOnce<Result>(work: LongWork<Result>): Result {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
  }
}
