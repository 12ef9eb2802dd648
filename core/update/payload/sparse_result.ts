/**
 * The mean of sparse payloads: a chunk's union of places is denser and varies in size, so it has a scale per chunk and
 * codes of 8 bits.
 *
 * Result: number of values (u32), then each chunk's kept values (kept_values.ts) with the scale as level and codes -127
 * to 127 stored plus 128; zero is not kept. Memory grows with the payloads' bytes, not with the numbers in them.
 */

import { type Parsed, parsed, refused } from "../../fault.ts";
import { inUnits, type LongWork } from "../../long_work.ts";
import { BitReader, BitWriter } from "./bit_stream.ts";
import { type Shares, sharesOf, stepFor, termBits, toInteger } from "./integer_sum.ts";
import {
  type ChunkHead,
  type ChunkLayout,
  chunksBytes,
  chunkValues,
  KeptValues,
  type LayoutOf,
  readHead,
  readKept,
  writeKept,
} from "./kept_values.ts";
import { isLevel, largestFloat, levelAbove, valueOfLevel } from "../level.ts";
import { type ByteBounds, isWithin, type WeightedSlice } from "./payload_codec.ts";

const headBytes = 4;
const largestCode = 127;
const zeroCode = 128;
const chunksInUnit = 64; // a few milliseconds

const layoutOfResult = (values: number): ChunkLayout => ({ values, mostKept: values, codeBits: 8, levels: 1 });

export const sparseResultBytes = (values: number): ByteBounds =>
  chunksBytes(values, { layoutOf: layoutOfResult, headBytes });

interface PayloadForm {
  readonly layoutOf: LayoutOf;
  readonly boundsOf: (values: number) => ByteBounds;
  readonly levelOf: (table: readonly number[]) => number | null;
}

export function* averageSparse(
  slices: readonly WeightedSlice[],
  form: PayloadForm,
): LongWork<Parsed<Uint8Array>> {
  const shares = sharesOf(slices);
  if (!shares.ok) return shares;
  const readers = slices.map(({ payload }) => new BitReader(payload));
  const counts = readers.map((reader) => reader.read32());
  const values = counts[0] ?? 0;
  const isFit = ({ payload }: WeightedSlice, i: number) =>
    counts[i] === values && isWithin(form.boundsOf(values), payload.byteLength);
  const misfit = slices.findIndex((slice, i) => !isFit(slice, i));
  if (misfit >= 0) {
    return refused("badNumbers", `${notPayload(misfit)}: it has ${slices[misfit]!.payload.byteLength} bytes`);
  }
  const sum = new ChunkSum(readers, { ...shares.value, ...form });
  const writer = new BitWriter();
  writer.write32(values);
  let wrong: number | null = null;
  yield* inUnits({ total: Math.ceil(values / chunkValues), unit: chunksInUnit }, (first, last) => {
    for (let chunk = first; wrong === null && chunk < last; chunk++) {
      wrong = sum.add(Math.min(chunkValues, values - chunk * chunkValues));
      if (wrong === null) sum.writeMean(writer);
    }
  });
  wrong ??= firstUnread(readers);
  return wrong === null ? parsed(writer.finish()) : refused("badNumbers", notPayload(wrong));
}

const notPayload = (place: number) =>
  `Cannot average slices: input ${place} is not a sparse payload of the same length`;

function firstUnread(readers: readonly BitReader[]): number | null {
  const place = readers.findIndex((reader) => !reader.isAtEnd);
  return place < 0 ? null : place;
}

/** One chunk at a time, in whole steps (integer_sum.ts). */
class ChunkSum {
  readonly #readers: readonly BitReader[];
  readonly #options: Shares & PayloadForm;
  readonly #sums = new Float64Array(chunkValues); // in steps; zero between chunks
  readonly #kept = new KeptValues();
  #values = 0;
  #step = 1;

  constructor(readers: readonly BitReader[], options: Shares & PayloadForm) {
    this.#readers = readers;
    this.#options = options;
  }

  /** Returns the index of an invalid payload, or null. */
  add(values: number): number | null {
    const { factors, layoutOf, levelOf } = this.#options;
    const layout = layoutOf(values);
    this.#values = values;
    const heads: ChunkHead[] = [];
    const terms: number[] = [];
    let largest = 0;
    for (const [place, reader] of this.#readers.entries()) {
      const head = readHead(reader, layout);
      const level = head === null ? null : levelOf(head.levels);
      if (head === null || level === null) return place;
      heads.push(head);
      terms.push(factors[place]! * level);
      largest = Math.max(largest, terms[place]!);
    }
    this.#step = stepFor(largest, termBits);
    for (const [place, reader] of this.#readers.entries()) {
      if (!readKept(reader, { head: heads[place]!, layout, kept: this.#kept })) return place;
      this.#addKept(toInteger(terms[place]! / this.#step));
    }
    return null;
  }

  #addKept(term: number): void {
    const { places, codes, count } = this.#kept;
    const sums = this.#sums;
    for (let i = 0; i < count; i++) sums[places[i]!]! += codes[i] === 0 ? term : -term;
  }

  /** Clears the sums. */
  writeMean(writer: BitWriter): void {
    const sums = this.#sums;
    const unit = this.#step / this.#options.total;
    let largest = 0;
    for (let i = 0; i < this.#values; i++) largest = Math.max(largest, Math.abs(sums[i]!));
    const scale = levelAbove(largest * unit / largestCode);
    const perCode = unit / valueOfLevel(scale);
    const kept = this.#kept;
    kept.count = 0;
    for (let i = 0; scale > 0 && i < this.#values; i++) {
      if (sums[i] === 0) continue;
      const code = toInteger(sums[i]! * perCode);
      if (code === 0) continue;
      kept.places[kept.count] = i;
      kept.codes[kept.count++] = code + zeroCode;
    }
    sums.fill(0, 0, this.#values);
    writeKept(writer, { kept, levels: [scale], layout: layoutOfResult(this.#values) });
  }
}

/** Null: not a result of at most `most` values. */
export function* decodeSparseResult(result: Uint8Array, most: number): LongWork<Float32Array | null> {
  const reader = new BitReader(result);
  const count = reader.read32();
  if (count > most || !isWithin(sparseResultBytes(count), result.byteLength)) return null;
  const values = new Float32Array(count);
  const kept = new KeptValues();
  let isResult = true;
  yield* inUnits({ total: Math.ceil(count / chunkValues), unit: chunksInUnit }, (first, last) => {
    for (let chunk = first; isResult && chunk < last; chunk++) {
      isResult = decodeChunk(reader, { values: values.subarray(chunk * chunkValues, (chunk + 1) * chunkValues), kept });
    }
  });
  return isResult && reader.isAtEnd ? values : null;
}

function decodeChunk(
  reader: BitReader,
  { values, kept }: { values: Float32Array; kept: KeptValues },
): boolean {
  const layout = layoutOfResult(values.length);
  const head = readHead(reader, layout);
  if (head === null) return false;
  const [scaleBits = 0] = head.levels;
  if (!isLevel(scaleBits) || !readKept(reader, { head, layout, kept })) return false;
  const scale = valueOfLevel(scaleBits);
  if (!(scale * largestCode <= largestFloat)) return false;
  for (let i = 0; i < kept.count; i++) {
    const code = kept.codes[i]! - zeroCode;
    if (code === 0 || code < -largestCode) return false;
    values[kept.places[i]!] = code * scale;
  }
  return true;
}
