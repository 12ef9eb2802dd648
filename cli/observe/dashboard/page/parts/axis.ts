/** Axis ticks and positions. Pure. */

interface Range {
  readonly low: number;
  readonly high: number;
}

/** About `count` multiples of 1, 2 or 5 times a power of ten. */
export function ticksOf({ low, high }: Range, count: number): number[] {
  const span = high - low;
  if (!(span > 0) || !Number.isFinite(span)) return Number.isFinite(low) ? [low] : [];
  const rough = span / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough) ?? rough;
  const ticks: number[] = [];
  for (let i = Math.ceil(low / step); i * step <= high + step * 1e-9; i++) {
    ticks.push(Number((i * step).toPrecision(12)));
  }
  return ticks;
}

/** Never empty; null without a number. */
export function rangeOf(values: readonly number[]): Range | null {
  let low = Infinity;
  let high = -Infinity;
  for (const value of values) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  if (!Number.isFinite(low) || !Number.isFinite(high)) return null;
  const margin = (high - low) * 0.05 || Math.abs(high) * 0.05 || 1;
  return { low: low - margin, high: high + margin };
}

export function placeOn({ low, high }: Range, { from, to }: { readonly from: number; readonly to: number }): (
  value: number,
) => number {
  const scale = high > low ? (to - from) / (high - low) : 0;
  return (value) => from + (value - low) * scale;
}
