/**
 * Dense payloads of 1.03 bytes a value: per block of 64 a scale (level.ts), then codes -127 to 127 as int8. Results
 * have the same form.
 *
 * Stochastic rounding would double the variance and need random numbers that others can repeat. A block lies in one row
 * of most matrices (in eight of a narrow wire's), so few values are rounded to zero, and no residual is kept.
 */

import { type Parsed, parsed, refused } from "../../fault.ts";
import { inUnits, type LongWork } from "../../long_work.ts";
import { type PayloadStats, unreadable } from "../payload_stats.ts";
import { type Shares, sharesOf, stepFor, termBits, toInteger } from "./integer_sum.ts";
import { firstNormal, isLevel, largestFloat, levelAbove, valueOfLevel } from "../level.ts";
import type { ByteBounds, EncodeInput, PayloadCodec, WeightedSlice } from "./payload_codec.ts";

const blockValues = 64;
const scaleBytes = 2;
const blockBytes = scaleBytes + blockValues;
const largestCode = 127;
const largestRead = 128; // valid, though no encoder writes it
const leastLargest = 64; // an encoder's largest is 126 or 127
const codeBits = 7;
const blocksInUnit = 2 ** 13; // a few milliseconds

export const int8: PayloadCodec = {
  name: "int8",
  version: 1,
  payloadBytes: exactly,
  resultBytes: exactly,
  bytesPerCut: scaleBytes, // of a cut within a block
  isOwnAverage: true,
  keepsResidual: false,
  mostRounds: 1,
  encode,
  inspect,
  average,
  decodeResult,
};

function exactly(values: number): ByteBounds {
  const bytes = values + scaleBytes * Math.ceil(values / blockValues);
  return { least: bytes, most: bytes };
}

/** Null if the bytes end within a scale or after it. */
function valuesOf({ byteLength }: Uint8Array): number | null {
  const rest = byteLength % blockBytes;
  if (rest > 0 && rest <= scaleBytes) return null;
  return blockValues * Math.floor(byteLength / blockBytes) + Math.max(0, rest - scaleBytes);
}

const codesOf = ({ buffer, byteOffset, byteLength }: Uint8Array) => new Int8Array(buffer, byteOffset, byteLength);

/** `start`: where the block begins. */
const scaleAt = (bytes: Uint8Array, start: number): number => bytes[start]! | (bytes[start + 1]! << 8);

/** Every code of this scale must be a float32. */
const isScale = (level: number): boolean => isLevel(level) && valueOfLevel(level) * largestRead <= largestFloat;

/**
 * A scale must be no larger than its codes need: payloads are added in steps of the largest scale, so one too large
 * would round everyone else's values to zero.
 */
const isFitting = (level: number, largestHere: number): boolean => level < firstNormal || largestHere >= leastLargest;

function* encode({ values }: EncodeInput): LongWork<Uint8Array> {
  const bytes = new Uint8Array(exactly(values.length).most);
  yield* inUnits({ total: Math.ceil(values.length / blockValues), unit: blocksInUnit }, (first, last) => {
    for (let block = first; block < last; block++) {
      const start = block * blockValues;
      writeBlock(bytes, { at: block * blockBytes, values: values.subarray(start, start + blockValues), unit: 1 });
    }
  });
  return bytes;
}

/** A non-finite value makes a non-finite scale. */
function writeBlock(
  bytes: Uint8Array,
  { at, values, unit }: { at: number; values: Float32Array | Float64Array; unit: number },
): void {
  let largest = 0;
  let spoilt = 0; // NaN after a non-finite value
  for (let i = 0; i < values.length; i++) {
    const magnitude = Math.abs(values[i]!);
    spoilt += 0 * magnitude;
    if (magnitude > largest) largest = magnitude;
  }
  const level = levelAbove(spoilt + largest * unit / largestCode);
  bytes[at] = level;
  bytes[at + 1] = level >>> 8;
  if (level === 0 || !isLevel(level)) return;
  const perCode = unit / valueOfLevel(level);
  for (let i = 0; i < values.length; i++) bytes[at + scaleBytes + i] = toInteger(values[i]! * perCode);
}

function* inspect(payload: Uint8Array, values: number): LongWork<PayloadStats> {
  if (payload.byteLength !== exactly(values).most) return unreadable;
  const codes = codesOf(payload);
  let isPayload = true;
  let squareSum = 0;
  let largest = 0;
  yield* inUnits({ total: Math.ceil(values / blockValues), unit: blocksInUnit }, (first, last) => {
    for (let block = first; isPayload && block < last; block++) {
      const start = block * blockBytes;
      const level = scaleAt(payload, start);
      let squares = 0;
      let largestHere = 0;
      for (let i = start + scaleBytes; i < Math.min(start + blockBytes, codes.length); i++) {
        squares += codes[i]! * codes[i]!;
        largestHere = Math.max(largestHere, Math.abs(codes[i]!));
      }
      isPayload = isScale(level) && isFitting(level, largestHere);
      if (!isPayload) continue;
      const scale = valueOfLevel(level);
      squareSum += scale * scale * squares;
      largest = Math.max(largest, scale * largestHere);
    }
  });
  return isPayload ? { isFinite: true, squareSum, largest } : unreadable;
}

function* average(slices: readonly WeightedSlice[]): LongWork<Parsed<Uint8Array>> {
  const shares = sharesOf(slices);
  if (!shares.ok) return shares;
  const [only] = slices;
  const bytes = only?.payload.byteLength ?? 0;
  const values = only === undefined ? null : valuesOf(only.payload);
  const misfit = slices.find(({ payload }) => payload.byteLength !== bytes);
  if (values === null || misfit !== undefined) {
    return refused("badNumbers", notBlocks(misfit?.payload.byteLength ?? bytes));
  }
  const mean = new Uint8Array(bytes);
  const sums = new BlockSums(slices, shares.value);
  let isReadable = true;
  yield* inUnits(
    { total: Math.ceil(values / blockValues), unit: Math.max(1, Math.ceil(blocksInUnit / slices.length)) },
    (first, last) => {
      for (let block = first; isReadable && block < last; block++) isReadable = sums.mean(block, mean);
    },
  );
  if (!isReadable) {
    return refused("badNumbers", "Cannot average slices: a scale is not finite or does not fit its codes");
  }
  return parsed(slices.length === 1 && only!.scale === 1 ? only!.payload : mean); // rounding again may change it
}

const notBlocks = (bytes: number): string =>
  `Cannot average slices: ${bytes} bytes are not blocks of ${blockValues} codes, or not as many as in the others`;

/** Sums one block at a time, in whole steps (integer_sum.ts). */
class BlockSums {
  readonly #inputs: readonly { bytes: Uint8Array; codes: Int8Array; factor: number }[];
  readonly #total: number;
  readonly #sums = new Float64Array(blockValues);
  readonly #terms: Float64Array; // per payload: what a code of 1 adds

  constructor(slices: readonly WeightedSlice[], { factors, total }: Shares) {
    this.#inputs = slices.map(({ payload }, i) => ({ bytes: payload, codes: codesOf(payload), factor: factors[i]! }));
    this.#total = total;
    this.#terms = new Float64Array(slices.length);
  }

  /** False: a scale is invalid or does not fit. */
  mean(block: number, bytes: Uint8Array): boolean {
    const [inputs, terms] = [this.#inputs, this.#terms];
    const start = block * blockBytes;
    let largest = 0;
    for (let j = 0; j < inputs.length; j++) {
      const { bytes: payload, factor } = inputs[j]!;
      const level = scaleAt(payload, start);
      if (!isScale(level)) return false;
      terms[j] = factor * valueOfLevel(level);
      if (terms[j]! > largest) largest = terms[j]!;
    }
    const step = stepFor(largest, termBits - codeBits);
    const first = start + scaleBytes;
    const sums = this.#sums.subarray(0, Math.min(blockValues, bytes.length - first)).fill(0);
    for (let j = 0; j < inputs.length; j++) {
      const { bytes: payload, codes } = inputs[j]!;
      const term = toInteger(terms[j]! / step);
      let largestHere = 0;
      for (let i = 0; i < sums.length; i++) {
        const code = codes[first + i]!;
        sums[i]! += term * code;
        largestHere = Math.max(largestHere, Math.abs(code));
      }
      if (!isFitting(scaleAt(payload, start), largestHere)) return false;
    }
    writeBlock(bytes, { at: start, values: sums, unit: step / this.#total });
    return true;
  }
}

function* decodeResult(result: Uint8Array, most: number): LongWork<Float32Array | null> {
  const count = valuesOf(result);
  if (count === null || count > most) return null;
  const codes = codesOf(result);
  const values = new Float32Array(count);
  let isResult = true;
  yield* inUnits({ total: Math.ceil(count / blockValues), unit: blocksInUnit }, (first, last) => {
    for (let block = first; isResult && block < last; block++) {
      const level = scaleAt(result, block * blockBytes);
      isResult = isScale(level);
      const scale = valueOfLevel(level);
      const end = Math.min(count, (block + 1) * blockValues);
      const shift = (block + 1) * scaleBytes;
      for (let i = block * blockValues; i < end; i++) values[i] = scale * codes[i + shift]!;
    }
  });
  return isResult ? values : null;
}
