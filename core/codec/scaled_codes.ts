/**
 * Formats of few bits: a scale byte s per row (row_scale.ts) and a code of 3 to 8 bits per value.
 *
 *     bytes = scales | codes + 2^(bits - 1), a bit stream from the lowest up; each part padded with zeros to words
 *
 *     nearest     value = (code + 1/2) 2s / 2^bits, code in [-2^(bits - 1), 2^(bits - 1) - 1]; rounded to nearest
 *     stochastic  value = code s / L, code in [-L, L], L = 2^(bits - 1) - 1; rounded up or down at random, unbiased
 *                 over the values of a wire, as a gradient must be (QSGD, arXiv 1610.02132); a stored 0 is undefined
 *
 * A code is one truncated float32 product, so every machine makes the same, also gpu/webgpu/wgsl/codes_encode.wgsl and
 * codes_decode.wgsl. Random numbers hash place, scale, code and a key per microbatch (rounding_key.ts), so a value
 * between two codes is rounded anew in each step.
 */

import { assert } from "../assert.ts";
import type { WireFormat, WireShape, WireSums } from "./codec.ts";
import { notFinite, scaleByte, scaleOf } from "./row_scale.ts";

export interface CodesSpec {
  readonly bits: number; // 3 to 8
  readonly grid: "nearest" | "stochastic";
}

/** By scale byte. */
interface CodeTables {
  readonly perValue: Float32Array; // from a magnitude to codes, or to 1 / 65536 of a code where stochastic
  readonly perCode: Float32Array; // from a code (2 code + 1 on the nearest grid) to its value
}

const wordBytes = 4;
/** A range that begins at a multiple has codes that begin at a whole byte; at 4 times that, at a whole word. */
const rowsOfBytes = 8;
export const rowsOfWords = 4 * rowsOfBytes;
const fraction = 2 ** 16; // of a code, for stochastic rounding
const leastNormal = 0x00800000; // smaller magnitudes count as zero, because some devices flush them
const magnitudeMask = 0x7fffffff;

const whole = (bytes: number) => Math.ceil(bytes / wordBytes) * wordBytes;

export function codesOffset({ rows }: Pick<WireShape, "rows">): number {
  return whole(rows);
}

export function codesLength({ bits }: CodesSpec, { rows, width }: WireShape): number {
  return codesOffset({ rows }) + whole(Math.ceil(rows * width * bits / 8));
}

const knownTables = new Map<string, CodeTables>();

export function codeTables(spec: CodesSpec): CodeTables {
  const name = `${spec.bits} ${spec.grid}`;
  const tables = knownTables.get(name) ?? tablesOf(spec);
  knownTables.set(name, tables);
  return tables;
}

function tablesOf({ bits, grid }: CodesSpec): CodeTables {
  const levels = grid === "nearest" ? 2 ** (bits - 1) : 2 ** (bits - 1) - 1;
  const scales = Array.from({ length: 256 }, (_, byte) => scaleOf(byte));
  const inverse = grid === "nearest" ? levels : levels * fraction;
  return {
    perValue: Float32Array.from(scales, (scale) => scale > 0 ? inverse / scale : 0),
    perCode: Float32Array.from(scales, (scale) => grid === "nearest" ? scale / (2 * levels) : scale / levels),
  };
}

interface Die {
  readonly place: number; // index in the wire
  readonly scale: number; // of its row
  readonly code: number; // the code below the value
  readonly key: number; // 32 bits
}

/** In [0, 65536). */
export function draw({ place, scale, code, key }: Die): number {
  let x = Math.imul(place, 0x9e3779b1) ^ Math.imul((scale << 8) | code, 0x85ebca6b) ^ key;
  x = Math.imul(x ^ (x >>> 16), 0x7feb352d);
  x = Math.imul(x ^ (x >>> 15), 0x846ca68b);
  return (x ^ (x >>> 16)) >>> 16;
}

const undefinedSums: WireSums = { largest: Infinity, squareSum: Infinity };

/** Rows [from, to). Ranges that begin at multiples of `rowsOfWords` share no byte. */
interface RowRange {
  readonly from: number;
  readonly to: number;
}

interface Encoding {
  readonly values: Float32Array; // (rows, width)
  readonly bytes: Uint8Array; // of the wire
  readonly key: number; // for stochastic rounding
}

export class ScaledCodes {
  readonly spec: CodesSpec;
  readonly tables: CodeTables;
  readonly #middle: number; // added to a code
  readonly #most: number; // largest code

  constructor(spec: CodesSpec) {
    this.spec = spec;
    this.tables = codeTables(spec);
    this.#middle = 2 ** (spec.bits - 1);
    this.#most = this.#middle - 1;
  }

  encodeRows({ values, bytes, key }: Encoding, shape: WireShape, range: RowRange): void {
    const { width } = shape;
    const { bits } = this.spec;
    const patterns = new Uint32Array(values.buffer, values.byteOffset, values.length);
    assert(range.from % rowsOfBytes === 0, "a range of rows begins at a whole byte");
    let at = codesOffset(shape) + range.from * width * bits / 8;
    let pending = 0, pendingBits = 0;
    for (let row = range.from; row < range.to; row++) {
      const first = row * width;
      let largest = 0;
      for (let i = first; i < first + width; i++) largest = Math.max(largest, patterns[i]! & magnitudeMask);
      const scale = scaleByte(largest);
      bytes[row] = scale;
      for (let i = first; i < first + width; i++) {
        pending |= this.#code(values[i]!, patterns[i]!, { scale, place: i, key }) << pendingBits;
        pendingBits += bits;
        for (; pendingBits >= 8; pendingBits -= 8, pending >>>= 8) bytes[at++] = pending;
      }
    }
    if (pendingBits > 0) bytes[at] = pending;
  }

  /** `target` (rows, width) */
  decodeRows(
    { bytes, target }: { bytes: Uint8Array; target: Float32Array },
    shape: WireShape,
    { from, to }: RowRange,
  ): void {
    const { width } = shape;
    const { bits, grid } = this.spec;
    const { perCode } = this.tables;
    const mask = 2 ** bits - 1;
    assert(from % rowsOfBytes === 0, "a range of rows begins at a whole byte");
    let at = codesOffset(shape) + from * width * bits / 8;
    let pending = 0, pendingBits = 0;
    for (let row = from; row < to; row++) {
      const step = perCode[bytes[row]!]!;
      const isFinite = bytes[row] !== notFinite;
      for (let i = row * width; i < (row + 1) * width; i++) {
        for (; pendingBits < bits; pendingBits += 8) pending |= bytes[at++]! << pendingBits;
        const code = (pending & mask) - this.#middle;
        pending >>>= bits;
        pendingBits -= bits;
        target[i] = isFinite ? (grid === "nearest" ? 2 * code + 1 : code) * step : Infinity;
      }
    }
  }

  /** Infinity where something is undefined. */
  sums(bytes: Uint8Array, shape: WireShape): WireSums {
    if (!hasPlainFrame(bytes, shape, this.spec)) return undefinedSums;
    const { bits, grid } = this.spec;
    const mask = 2 ** bits - 1;
    const isNearest = grid === "nearest";
    let at = codesOffset(shape), pending = 0, pendingBits = 0;
    let largest = 0, squareSum = 0;
    for (let row = 0; row < shape.rows; row++) {
      const step = this.tables.perCode[bytes[row]!]!;
      for (let i = 0; i < shape.width; i++) {
        for (; pendingBits < bits; pendingBits += 8) pending |= bytes[at++]! << pendingBits;
        const stored = pending & mask;
        if (stored === 0 && !isNearest) return undefinedSums;
        pending >>>= bits;
        pendingBits -= bits;
        const code = stored - this.#middle;
        const value = Math.fround((isNearest ? 2 * code + 1 : code) * step);
        largest = Math.max(largest, Math.abs(value));
        squareSum += value * value;
      }
    }
    return { largest, squareSum };
  }

  /** The code as stored. */
  #code(value: number, pattern: number, { scale, place, key }: Omit<Die, "code">): number {
    const isZero = (pattern & magnitudeMask) < leastNormal;
    if (scale === notFinite || isZero) return this.#middle;
    const units = Math.trunc(Math.fround(Math.abs(value) * this.tables.perValue[scale]!));
    if (this.spec.grid === "nearest") {
      const code = Math.min(units, this.#most);
      return this.#middle + (value < 0 ? -1 - code : code);
    }
    const below = Math.trunc(units / fraction);
    const isUp = units % fraction > draw({ place, scale, code: below, key });
    const code = Math.min(below + (isUp ? 1 : 0), this.#most);
    return this.#middle + (value < 0 ? -code : code);
  }
}

/**
 * How far rounding may move a value, as a share of the row's largest decoded one: by one code. Where a row's largest
 * value lies between two scales, it may fall by a code of one scale and rise by a code of the other.
 */
function codeShare({ bits, grid }: CodesSpec): number {
  const levels = grid === "nearest" ? 2 ** (bits - 1) : 2 ** (bits - 1) - 1;
  const smaller = 2 ** -0.25; // of two neighbouring scales
  const codes = grid === "nearest" ? 1 : 1 + smaller;
  return codes / (levels * (smaller - 1 / levels));
}

/**
 * The largest share of codes that differ between honest results 2.5e-5 of a row's largest value apart. Opened
 * parameters of 16 bits gave 0.26 % at 8 bits and 0.016 % at 4 and 5 (`tiny`); another device gave none.
 */
function hitShare({ bits, grid }: CodesSpec): number {
  const ofCodes = 2 ** bits / 2 ** 16;
  return grid === "nearest" ? ofCodes : ofCodes / 4; // most move by one code, half of `codeShare`
}

export function scaledCodes(spec: CodesSpec): WireFormat {
  const codes = new ScaledCodes(spec);
  const byteLength = (shape: WireShape) => codesLength(spec, shape);
  const decode = (bytes: Uint8Array, shape: WireShape) => {
    const target = new Float32Array(shape.rows * shape.width);
    codes.decodeRows({ bytes, target }, shape, { from: 0, to: shape.rows });
    return target;
  };
  return {
    byteLength,
    encode(values, shape, key) {
      const bytes = new Uint8Array(byteLength(shape));
      codes.encodeRows({ values, bytes, key }, shape, { from: 0, to: shape.rows });
      return bytes;
    },
    decode,
    isFinite: (bytes, shape) =>
      spec.grid === "nearest" ? hasPlainFrame(bytes, shape, spec) : Number.isFinite(codes.sums(bytes, shape).squareSum),
    rounding: { ofValue: 0, ofRow: codeShare(spec), valuesHit: hitShare(spec) },
    sums: (bytes, shape) => codes.sums(bytes, shape),
  };
}

function hasPlainFrame(bytes: Uint8Array, { rows, width }: WireShape, spec: CodesSpec): boolean {
  const codes = codesOffset({ rows });
  for (let row = 0; row < rows; row++) if (bytes[row] === notFinite) return false;
  for (let i = rows; i < codes; i++) if (bytes[i] !== 0) return false;
  const bits = rows * width * spec.bits;
  const end = codes + Math.floor(bits / 8);
  if (bits % 8 !== 0 && bytes[end]! >>> bits % 8 !== 0) return false;
  for (let i = codes + Math.ceil(bits / 8); i < bytes.length; i++) if (bytes[i] !== 0) return false;
  return true;
}
