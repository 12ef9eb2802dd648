/**
 * A curve of any length in bounded memory: when it is full, neighbours are averaged and each value stands for twice as many.
 * Invariant: every kept value is the mean of `stride` measurements, or null where one of them was non-finite; `pending` holds
 * the ones that do not fill a value yet. Plain data: a series survives JSON unchanged.
 */

export const maxValues = 512; // even; more than any terminal has columns

export interface Series {
  values: (number | null)[];
  stride: number;
  pending: { sum: number | null; count: number };
}

export function emptySeries(): Series {
  return { values: [], stride: 1, pending: { sum: 0, count: 0 } };
}

/** Null stands for a non-finite measurement and makes a gap. */
export function pushSeries(series: Series, value: number | null): void {
  const { pending } = series;
  pending.sum = sum(pending.sum, value);
  pending.count += 1;
  if (pending.count < series.stride) return;
  series.values.push(mean(pending.sum, pending.count));
  series.pending = { sum: 0, count: 0 };
  if (series.values.length < maxValues) return;
  const { values } = series;
  series.values = Array.from(
    { length: maxValues / 2 },
    (_, i) => mean(sum(values[2 * i] ?? null, values[2 * i + 1] ?? null), 2),
  );
  series.stride *= 2;
}

const sum = (a: number | null, b: number | null): number | null => a === null || b === null ? null : a + b;
const mean = (total: number | null, count: number): number | null => total === null ? null : total / count;
