/** Payloads of little-endian float32; results have the same form. */

import { type Parsed, parsed, refused } from "../../fault.ts";
import type { LongWork } from "../../long_work.ts";
import { bytesOfFloats, floatsOf, vectorBytes } from "../../model/vector_bytes.ts";
import { averageInUnits } from "../average.ts";
import { inspectVector, type PayloadStats, unreadable } from "../payload_stats.ts";
import type { ByteBounds, EncodeInput, PayloadCodec, WeightedSlice } from "./payload_codec.ts";

export const float32: PayloadCodec = {
  name: "float32",
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
  const bytes = vectorBytes(values);
  return { least: bytes, most: bytes };
}

// deno-lint-ignore require-yield -- no copy is made
function* encode({ values }: EncodeInput): LongWork<Uint8Array> {
  return bytesOfFloats(values);
}

function* inspect(payload: Uint8Array, values: number): LongWork<PayloadStats> {
  return payload.byteLength === vectorBytes(values) ? yield* inspectVector(payload) : unreadable;
}

function* average(slices: readonly WeightedSlice[]): LongWork<Parsed<Uint8Array>> {
  const inputs: Float32Array[] = [];
  for (const { payload } of slices) {
    const values = yield* decodeResult(payload);
    if (values === null) return refused("badNumbers", notFloats(payload));
    inputs.push(values);
  }
  const [weights, scales] = [slices.map(({ weight }) => weight), slices.map(({ scale }) => scale)];
  const mean = yield* averageInUnits({ inputs, weights, scales });
  return mean.ok ? parsed(bytesOfFloats(mean.value)) : mean;
}

const notFloats = ({ byteLength }: Uint8Array): string =>
  `Cannot average slices: ${byteLength} bytes are not whole floats`;

// deno-lint-ignore require-yield -- no copy is made
function* decodeResult(result: Uint8Array, most = Infinity): LongWork<Float32Array | null> {
  return result.byteLength % vectorBytes(1) === 0 && result.byteLength <= vectorBytes(most) ? floatsOf(result) : null;
}
