/**
 * Dense payloads of bfloat16, rounded to nearest; results have the same form. An error is at most 0.4 % of its value,
 * so no residual is kept.
 */

import { bfloat16, decodeBfloat16, encodeBfloat16 } from "../../codec/bfloat16.ts";
import { type Parsed, parsed, refused } from "../../fault.ts";
import { inUnits, type LongWork } from "../../long_work.ts";
import { joinStats, noValues, type PayloadStats, unreadable } from "../payload_stats.ts";
import { type Shares, sharesOf, stepFor, termBits, toInteger } from "./integer_sum.ts";
import type { ByteBounds, EncodeInput, PayloadCodec, WeightedSlice } from "./payload_codec.ts";

const valueBytes = 2;
const chunkValues = 4096; // with one step for their sums
const valuesInUnit = 2 ** 19; // a few milliseconds

export const bf16: PayloadCodec = {
  name: "bf16",
  version: 1,
  payloadBytes: exactly,
  resultBytes: exactly,
  bytesPerCut: 0,
  isOwnAverage: true,
  keepsResidual: false,
  mostRounds: 1,
  encode,
  inspect,
  average,
  decodeResult,
};

function exactly(values: number): ByteBounds {
  return { least: valueBytes * values, most: valueBytes * values };
}

function* encode({ values }: EncodeInput): LongWork<Uint8Array> {
  const bytes = new Uint8Array(exactly(values.length).most);
  yield* inUnits({ total: values.length, unit: valuesInUnit }, (start, end) => {
    bytes.set(encodeBfloat16(values.subarray(start, end)), valueBytes * start);
  });
  return bytes;
}

function* inspect(payload: Uint8Array, values: number): LongWork<PayloadStats> {
  if (payload.byteLength !== exactly(values).most) return unreadable;
  let stats = noValues;
  yield* inUnits({ total: values, unit: valuesInUnit }, (start, end) => {
    if (!stats.isFinite) return;
    const part = payload.subarray(valueBytes * start, valueBytes * end);
    const shape = { rows: 1, width: end - start };
    stats = bfloat16.isFinite(part, shape)
      ? joinStats(stats, { isFinite: true, ...bfloat16.sums(part, shape) })
      : unreadable;
  });
  return stats;
}

function* average(slices: readonly WeightedSlice[]): LongWork<Parsed<Uint8Array>> {
  const shares = sharesOf(slices);
  if (!shares.ok) return shares;
  const [only] = slices;
  const bytes = only?.payload.byteLength ?? 0;
  const misfit = slices.find(({ payload }) => payload.byteLength !== bytes || bytes % valueBytes !== 0);
  if (only === undefined || misfit !== undefined) {
    return refused("badNumbers", notValues(misfit?.payload.byteLength ?? bytes));
  }
  const mean = new Uint8Array(bytes);
  const sums = new ChunkSums(slices, shares.value);
  let isFinite = true;
  const unit = Math.max(1, Math.ceil(valuesInUnit / chunkValues / slices.length));
  yield* inUnits({ total: Math.ceil(bytes / valueBytes / chunkValues), unit }, (first, last) => {
    for (let chunk = first; isFinite && chunk < last; chunk++) isFinite = sums.mean(chunk, mean);
  });
  if (!isFinite) return refused("badNumbers", "Cannot average slices: one holds a non-finite value");
  return parsed(slices.length === 1 && only.scale === 1 ? only.payload : mean); // small values lose bits in a sum
}

const notValues = (bytes: number): string =>
  `Cannot average slices: ${bytes} bytes are not whole bfloat16 values, or not as many as in the others`;

/** Sums one chunk at a time, in whole steps (integer_sum.ts). */
class ChunkSums {
  readonly #payloads: readonly Uint16Array[];
  readonly #shares: Shares;
  readonly #sums = new Float64Array(chunkValues);
  readonly #patterns = new Uint32Array(chunkValues); // of a chunk, as float32
  readonly #values = new Float32Array(this.#patterns.buffer);

  constructor(slices: readonly WeightedSlice[], shares: Shares) {
    this.#payloads = slices.map(({ payload }) => halves(payload));
    this.#shares = shares;
  }

  /** False: a value is not finite. */
  mean(chunk: number, bytes: Uint8Array): boolean {
    const { factors, total } = this.#shares;
    const start = chunk * chunkValues;
    const count = Math.min(chunkValues, bytes.length / valueBytes - start);
    let largest = 0;
    for (const [j, payload] of this.#payloads.entries()) {
      const magnitude = largestPattern(payload, { start, count });
      if (magnitude >= 0x7f80) return false;
      this.#patterns[0] = magnitude << 16;
      largest = Math.max(largest, factors[j]! * this.#values[0]!);
    }
    const step = stepFor(largest, termBits);
    const [sums, patterns, values] = [this.#sums, this.#patterns, this.#values];
    sums.fill(0, 0, count);
    for (const [j, payload] of this.#payloads.entries()) {
      const factor = factors[j]! / step;
      for (let i = 0; i < count; i++) patterns[i] = payload[start + i]! << 16;
      for (let i = 0; i < count; i++) sums[i]! += toInteger(factor * values[i]!);
    }
    for (let i = 0; i < count; i++) values[i] = sums[i]! * step / total;
    bytes.set(encodeBfloat16(values.subarray(0, count)), valueBytes * start);
    return true;
  }
}

/** Shares the bytes' memory if they are aligned. */
function halves(bytes: Uint8Array): Uint16Array {
  const aligned = bytes.byteOffset % valueBytes === 0 ? bytes : bytes.slice();
  return new Uint16Array(aligned.buffer, aligned.byteOffset, aligned.byteLength / valueBytes);
}

/** Patterns without their signs sort like their values. */
function largestPattern(payload: Uint16Array, { start, count }: { start: number; count: number }): number {
  let largest = 0;
  for (let i = start; i < start + count; i++) {
    const magnitude = payload[i]! & 0x7fff;
    if (magnitude > largest) largest = magnitude;
  }
  return largest;
}

function* decodeResult(result: Uint8Array, most: number): LongWork<Float32Array | null> {
  if (result.byteLength % valueBytes !== 0 || result.byteLength > valueBytes * most) return null;
  const values = new Float32Array(result.byteLength / valueBytes);
  let isFinite = true;
  yield* inUnits({ total: values.length, unit: valuesInUnit }, (start, end) => {
    const part = result.subarray(valueBytes * start, valueBytes * end);
    isFinite &&= bfloat16.isFinite(part, { rows: 1, width: end - start });
    values.set(decodeBfloat16(part), start);
  });
  return isFinite ? values : null;
}
