/**
 * A curve of any length in bounded memory: when it is full, neighbours are averaged and `stride` doubles. A value is
 * the mean of `stride` measurements, or null where one was non-finite; `pending` holds the rest. Survives JSON.
 */

const maxValues = 512; // even; above a terminal's columns

export interface Series {
  values: (number | null)[];
  stride: number;
  pending: { sum: number | null; count: number };
}

export function emptySeries(): Series {
  return { values: [], stride: 1, pending: { sum: 0, count: 0 } };
}

/** Null makes a gap. `most`: even, constant for a series. */
export function pushSeries(series: Series, value: number | null, most = maxValues): void {
  const { pending } = series;
  pending.sum = sum(pending.sum, value);
  pending.count += 1;
  if (pending.count < series.stride) return;
  series.values.push(mean(pending.sum, pending.count));
  series.pending = { sum: 0, count: 0 };
  if (series.values.length < most) return;
  const { values } = series;
  series.values = Array.from(
    { length: most / 2 },
    (_, i) => mean(sum(values[2 * i] ?? null, values[2 * i + 1] ?? null), 2),
  );
  series.stride *= 2;
}

export const lengthOf = ({ values, stride, pending }: Series): number => values.length * stride + pending.count;

/** Without gaps; null if nothing is left. */
export function meanOf({ values, stride, pending }: Series): number | null {
  let total = 0;
  let count = 0;
  for (const value of values) {
    if (value === null) continue;
    total += value * stride;
    count += stride;
  }
  if (pending.sum !== null) {
    total += pending.sum;
    count += pending.count;
  }
  return count === 0 ? null : total / count;
}

/** The rest of a split value counts as its mean. */
export function dropLast(series: Series, count: number): void {
  if (count <= 0) return;
  const { values, stride, pending } = series;
  const kept = Math.max(0, lengthOf(series) - count);
  const whole = Math.floor(kept / stride);
  const rest = kept - whole * stride;
  const cut = whole < values.length ? values[whole]! : mean(pending.sum, pending.count);
  series.values = values.slice(0, whole);
  series.pending = { sum: rest === 0 ? 0 : cut === null ? null : cut * rest, count: rest };
}

/** An infinite sum is a gap, because JSON cannot hold it. */
function sum(a: number | null, b: number | null): number | null {
  const total = a === null || b === null ? NaN : a + b;
  return Number.isFinite(total) ? total : null;
}

const mean = (total: number | null, count: number): number | null => total === null ? null : total / count;
