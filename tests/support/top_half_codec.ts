/**
 * A payload codec for tests that differs from float32 in everything the seam allows: a payload holds the larger half of its
 * values with their places, so its length varies; the result is dense and has another form; what was left out comes back.
 *
 * Payload: u32 values, u32 kept, then (u32 place, f32 value) for each kept value that is not zero, places ascending.
 * Result: u32 values, then f32 for each. Little-endian. Whole slices at once: test slices are short.
 */

import { type Parsed, parsed, refused } from "../../core/fault.ts";
import type { LongWork } from "../../core/long_work.ts";
import { averageInUnits } from "../../core/update/average.ts";
import type { EncodeInput, PayloadCodec, WeightedSlice } from "../../core/update/payload/payload_codec.ts";
import { payloadCodecs } from "../../core/update/payload/payload_codecs.ts";
import { type PayloadStats, payloadStats, unreadable } from "../../core/update/payload_stats.ts";
import { bytesOfFloats } from "../../core/model/vector_bytes.ts";

const headBytes = 8;
const entryBytes = 8;
const mostKept = (values: number) => Math.floor(values / 2);

export const topHalf: PayloadCodec = {
  name: "topHalf",
  version: 1,
  payloadBytes: (values) => ({ least: headBytes, most: headBytes + entryBytes * mostKept(values) }),
  resultBytes: (values) => ({ least: 4 + 4 * values, most: 4 + 4 * values }),
  bytesPerCut: headBytes,
  isOwnAverage: false,
  keepsResidual: true,
  mostRounds: 8,
  encode,
  inspect,
  average,
  decodeResult,
};

/** While `body` runs, every run of this process uses it in the place of float32. */
export async function withTopHalf(body: () => void | Promise<void>): Promise<void> {
  const { float32 } = payloadCodecs;
  Object.assign(payloadCodecs, { float32: topHalf });
  try {
    await body();
  } finally {
    Object.assign(payloadCodecs, { float32 });
  }
}

export function topHalfTest(name: string, body: () => void | Promise<void>): void {
  Deno.test(name, () => withTopHalf(body));
}

// deno-lint-ignore require-yield -- short
function* encode({ values, residual }: EncodeInput): LongWork<Uint8Array> {
  const wanted = Float32Array.from(values, (value, i) => value + residual![i]!);
  const order = [...wanted.keys()].sort((a, b) => Math.abs(wanted[b]!) - Math.abs(wanted[a]!) || a - b);
  const kept = order.slice(0, mostKept(values.length)).filter((i) => wanted[i] !== 0).sort((a, b) => a - b);
  const bytes = new Uint8Array(headBytes + entryBytes * kept.length);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, values.length, true);
  view.setUint32(4, kept.length, true);
  kept.forEach((i, entry) => {
    view.setUint32(headBytes + entryBytes * entry, i, true);
    view.setFloat32(headBytes + entryBytes * entry + 4, wanted[i]!, true);
    wanted[i] = 0;
  });
  residual!.set(wanted);
  return bytes;
}

/** Null: no payload. */
function dense(payload: Uint8Array): Float32Array | null {
  if (payload.byteLength < headBytes) return null;
  const view = new DataView(payload.buffer, payload.byteOffset, payload.byteLength);
  const [count, kept] = [view.getUint32(0, true), view.getUint32(4, true)];
  if (kept > mostKept(count) || count > 2 ** 24 || payload.byteLength !== headBytes + entryBytes * kept) return null;
  const values = new Float32Array(count);
  let last = -1;
  for (let at = headBytes; at < payload.byteLength; at += entryBytes) {
    const place = view.getUint32(at, true);
    if (place <= last || place >= count) return null;
    values[place] = view.getFloat32(at + 4, true);
    last = place;
  }
  return values;
}

// deno-lint-ignore require-yield -- short
function* inspect(payload: Uint8Array, count: number): LongWork<PayloadStats> {
  const values = dense(payload);
  return values?.length === count ? payloadStats(values) : unreadable;
}

function* average(slices: readonly WeightedSlice[]): LongWork<Parsed<Uint8Array>> {
  const inputs = slices.map(({ payload }) => dense(payload)).filter((values) => values !== null);
  if (inputs.length < slices.length) {
    return refused("badNumbers", "Cannot average slices: one of them is not a payload");
  }
  const [weights, scales] = [slices.map(({ weight }) => weight), slices.map(({ scale }) => scale)];
  const mean = yield* averageInUnits({ inputs, weights, scales });
  if (!mean.ok) return mean;
  const bytes = new Uint8Array(4 + 4 * mean.value.length);
  new DataView(bytes.buffer).setUint32(0, mean.value.length, true);
  bytes.set(bytesOfFloats(mean.value), 4);
  return parsed(bytes);
}

// deno-lint-ignore require-yield -- short
function* decodeResult(result: Uint8Array): LongWork<Float32Array | null> {
  if (result.byteLength < 4) return null;
  const count = new DataView(result.buffer, result.byteOffset).getUint32(0, true);
  return result.byteLength === 4 + 4 * count ? new Float32Array(result.slice(4).buffer) : null;
}
