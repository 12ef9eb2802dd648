/**
 * A curve of any length in bounded memory: when it is full, neighbours are averaged and each value stands for twice as many.
 * Invariant: every kept value is the mean of `stride` measurements; `pending` holds the ones that do not fill a value yet.
 */

const maxValues = 512; // even; more than any terminal has columns

export interface Series {
  values: number[];
  stride: number;
  pending: { sum: number; count: number };
}

export function emptySeries(): Series {
  return { values: [], stride: 1, pending: { sum: 0, count: 0 } };
}

export function pushSeries(series: Series, value: number): void {
  const { pending } = series;
  pending.sum += value;
  pending.count += 1;
  if (pending.count < series.stride) return;
  series.values.push(pending.sum / pending.count);
  series.pending = { sum: 0, count: 0 };
  if (series.values.length < maxValues) return;
  series.values = Array.from(
    { length: maxValues / 2 },
    (_, i) => (series.values[2 * i]! + series.values[2 * i + 1]!) / 2,
  );
  series.stride *= 2;
}
