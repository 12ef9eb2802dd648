/**
 * The distance between two wires that should be equal: the largest error of a row beyond the format's rounding, as a
 * share of the larger row. By row, because one bad row can make a consumer's gradient explode, yet hardly shows in a
 * sum.
 *
 * 0: equal; 1: nothing in common, or one row is zero; 2: one is the other's negative, or token ids differ. Replicas on
 * different devices stay far below 0.05. Values must be finite.
 */

import { assert } from "../assert.ts";
import { decodeWire, type Wire, wireIds, wireRounding } from "./wire.ts";

export function wiresApart(wire: Wire, [first, second]: readonly [Uint8Array, Uint8Array]): number {
  assert(first.length === second.length, "compared wires have one length");
  if (!haveSameIds(wire, [first, second])) return 2;
  const { width } = wire;
  const { ofRow } = wireRounding(wire);
  const a = decodeWire(wire, first);
  const b = decodeWire(wire, second);
  let worst = 0; // squared
  for (let row = 0; row < a.length; row += width) {
    // The smaller row decides, so that a huge row cannot excuse itself.
    const allowed = ofRow * Math.min(largestOf(a, row, width), largestOf(b, row, width));
    let error = 0, ofA = 0, ofB = 0;
    for (let i = row; i < row + width; i++) {
      const difference = Math.abs(a[i]! - b[i]!);
      if (difference > allowed) error += (difference - allowed) ** 2;
      ofA += a[i]! ** 2;
      ofB += b[i]! ** 2;
    }
    if (error > 0) worst = Math.max(worst, error / Math.max(ofA, ofB));
  }
  return Math.sqrt(worst);
}

export function haveSameIds(wire: Wire, [first, second]: readonly [Uint8Array, Uint8Array]): boolean {
  const others = wireIds(wire, second);
  return wireIds(wire, first)?.every((id, i) => id === others?.[i]) ?? true;
}

function largestOf(values: Float32Array, from: number, count: number): number {
  let largest = 0;
  for (let i = from; i < from + count; i++) largest = Math.max(largest, Math.abs(values[i]!));
  return largest;
}
