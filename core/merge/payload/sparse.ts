/**
 * Sparse payloads with error feedback, after SparseLoCo (Sarfi et al. 2025, arXiv 2508.15706): of every 4096 values the few with
 * the largest magnitudes, each as a sign and one of two levels, which are the means of a chunk's smaller and larger magnitudes.
 * What is left out, by omission or rounding, is added to the next payload at 0.95 of its size.
 *
 *     m <- 0.95 r + g          payload: Q(top(m))          r <- m - Q(top(m))          g: pseudo-gradient, r: residual
 *
 * Payload: the number of values (u32), then for every chunk its kept values (kept_values.ts) with two levels and 2-bit codes: bit
 * 0 the sign, bit 1 the larger level. Result: sparse_result.ts. A chunk may keep twice the density, as chunks of embeddings do;
 * a payload says how many it kept. Invariant: one value of a payload is at most 1 / (1 - 0.95) rounds' worth.
 */

import { present } from "../../assert.ts";
import { inUnits, type LongWork } from "../../long_work.ts";
import { noValues, type PayloadStats, unreadable } from "../payload_stats.ts";
import { BitReader, BitWriter } from "./bit_stream.ts";
import {
  type ChunkLayout,
  chunksBytes,
  chunkValues,
  KeptValues,
  type LayoutOf,
  mostBits,
  readHead,
  readKept,
  writeKept,
} from "./kept_values.ts";
import { chooseLargest } from "./largest_values.ts";
import { isLevel, nearestLevel, valueOfLevel } from "./level.ts";
import { type ByteBounds, type EncodeInput, isWithin, type PayloadCodec, type ValueRange } from "./payload_codec.ts";
import { densities } from "./payload_codec_names.ts";
import { averageSparse, decodeSparseResult, sparseResultBytes } from "./sparse_result.ts";

const feedback = 0.95; // of the residual in the next payload
const embeddingFactor = 2; // times the density
const headBytes = 4;
const chunksInUnit = 64; // a few milliseconds
const lloydSteps = 4; // after that the split of 64 values rarely moves

export const sparse = sparseCodec(densities.default);

/** `density`: the share of values that a payload keeps. */
function sparseCodec(density: number): PayloadCodec {
  const layoutOf = chunkLayouts(density);
  const boundsOf = (values: number) => chunksBytes(values, { layoutOf, headBytes });
  return {
    name: "sparse",
    version: 2,
    tuned: ({ density: wanted = densities.default }) => wanted === densities.default ? sparse : sparseCodec(wanted),
    payloadBytes: boundsOf,
    resultBytes: sparseResultBytes,
    bytesPerCut: headBytes + Math.ceil(mostBits(layoutOf(chunkValues)) / 8) + 2,
    isOwnAverage: false,
    keepsResidual: true,
    mostRounds: Math.round(1 / (1 - feedback)),
    encode: (input) => encode(input, { density, layoutOf }),
    inspect: (payload, values) => inspect(payload, { values, bounds: boundsOf(values), layoutOf }),
    average: (slices) => averageSparse(slices, { layoutOf, boundsOf, levelsOf }),
    decodeResult: decodeSparseResult,
  };
}

function chunkLayouts(density: number): LayoutOf {
  const layout = (values: number): ChunkLayout => ({
    values,
    mostKept: wantedOf(density, { values, embeddings: values }),
    codeBits: 2,
    levels: 2,
  });
  const whole = layout(chunkValues);
  return (values) => values === chunkValues ? whole : layout(values);
}

function wantedOf(density: number, { values, embeddings }: { values: number; embeddings: number }): number {
  const counted = values + (embeddingFactor - 1) * embeddings;
  return Math.min(values, Math.max(1, Math.round(density * counted)));
}

function* encode(
  { values, residual, embeddings }: EncodeInput,
  { density, layoutOf }: { density: number; layoutOf: LayoutOf },
): LongWork<Uint8Array> {
  const left = present(residual, "a residual is kept for a sparse payload");
  const writer = new BitWriter();
  const kept = new KeptValues();
  writer.write32(values.length);
  yield* inUnits({ total: Math.ceil(values.length / chunkValues), unit: chunksInUnit }, (first, last) => {
    for (let chunk = first; chunk < last; chunk++) {
      const [start, end] = [chunk * chunkValues, Math.min(values.length, (chunk + 1) * chunkValues)];
      const ofChunk = { values: end - start, embeddings: overlap(embeddings, { start, end }) };
      const [wanted, rest] = [values.subarray(start, end), left.subarray(start, end)];
      for (let i = 0; i < wanted.length; i++) wanted[i] = wanted[i]! + feedback * rest[i]!;
      kept.count = chooseLargest(wanted, wantedOf(density, ofChunk), kept.places);
      const levels = quantize(wanted, kept);
      writeKept(writer, { kept, levels, layout: layoutOf(end - start) });
      leaveRest(wanted, { kept, levels, rest });
    }
  });
  return writer.finish();
}

function overlap(ranges: readonly ValueRange[], { start, end }: ValueRange): number {
  return ranges.reduce((sum, range) => sum + Math.max(0, Math.min(end, range.end) - Math.max(start, range.start)), 0);
}

const magnitudes = new Float32Array(chunkValues); // scratch: of the kept values

/** Sets the codes and returns the two levels, by Lloyd's method: the means of both sides of a split halfway between them. */
function quantize(values: Float32Array, { places, codes, count }: KeptValues): [low: number, high: number] {
  let sum = 0;
  for (let i = 0; i < count; i++) {
    magnitudes[i] = Math.abs(values[places[i]!]!);
    sum += magnitudes[i]!;
  }
  let split = sum / count;
  let [low, high, lastSplit] = [split, split, split];
  for (let step = 0; step < lloydSteps; step++) {
    let lowSum = 0, highSum = 0, highCount = 0;
    for (let i = 0; i < count; i++) {
      const each = magnitudes[i]!;
      if (each > split) {
        highSum += each;
        highCount += 1;
      } else lowSum += each;
    }
    low = highCount === count ? highSum / count : lowSum / (count - highCount);
    high = highCount === 0 ? low : highSum / highCount;
    [lastSplit, split] = [split, (low + high) / 2];
  }
  for (let i = 0; i < count; i++) codes[i] = (values[places[i]!]! < 0 ? 1 : 0) | (magnitudes[i]! > lastSplit ? 2 : 0);
  return [nearestLevel(low), nearestLevel(high)];
}

/** A non-finite value leaves nothing: the payload it spoils is refused, and the next one must not be. */
function leaveRest(
  values: Float32Array,
  { kept, levels, rest }: { kept: KeptValues; levels: readonly [number, number]; rest: Float32Array },
): void {
  rest.set(values);
  const [low, high] = [valueOfLevel(levels[0]), valueOfLevel(levels[1])];
  for (let i = 0; i < kept.count; i++) {
    const [place, code] = [kept.places[i]!, kept.codes[i]!];
    const level = (code & 2) === 0 ? low : high;
    const unsent = values[place]! - ((code & 1) === 0 ? level : -level);
    rest[place] = Number.isFinite(unsent) ? unsent : 0;
  }
}

interface Inspection {
  readonly values: number;
  readonly bounds: ByteBounds;
  readonly layoutOf: LayoutOf;
}

function* inspect(payload: Uint8Array, { values, bounds, layoutOf }: Inspection): LongWork<PayloadStats> {
  if (!isWithin(bounds, payload.byteLength)) return unreadable;
  const reader = new BitReader(payload);
  if (reader.read32() !== values) return unreadable;
  const kept = new KeptValues();
  let { squareSum, largest } = noValues;
  let isPayload = true;
  yield* inUnits({ total: Math.ceil(values / chunkValues), unit: chunksInUnit }, (first, last) => {
    for (let chunk = first; isPayload && chunk < last; chunk++) {
      const levels = readChunk(reader, { layout: layoutOf(Math.min(chunkValues, values - chunk * chunkValues)), kept });
      if (levels === null) {
        isPayload = false;
        continue;
      }
      const [low, high] = levels;
      let highs = 0;
      for (let i = 0; i < kept.count; i++) highs += kept.codes[i]! >>> 1;
      squareSum += (kept.count - highs) * low * low + highs * high * high;
      if (kept.count > 0) largest = Math.max(largest, highs > 0 ? high : low);
    }
  });
  return isPayload && reader.isAtEnd ? { isFinite: true, squareSum, largest } : unreadable;
}

/** Reads a chunk's values into `kept` and returns its levels, zeros if it has none. Null: no chunk of a payload. */
function readChunk(
  reader: BitReader,
  { layout, kept }: { layout: ChunkLayout; kept: KeptValues },
): readonly [low: number, high: number] | null {
  const head = readHead(reader, layout);
  const levels = head === null ? null : levelsOf(head.levels);
  return head !== null && levels !== null && readKept(reader, { head, layout, kept }) ? levels : null;
}

/** The two levels of a table; null unless both are finite and in order. */
function levelsOf([low = 0, high = 0]: readonly number[]): readonly [low: number, high: number] | null {
  return isLevel(high) && low <= high ? [valueOfLevel(low), valueOfLevel(high)] : null;
}
