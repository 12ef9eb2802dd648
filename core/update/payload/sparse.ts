/**
 * Sparse payloads with error feedback, after SparseLoCo (Sarfi et al. 2025, arXiv 2508.15706): of every 4096 values the
 * signs of the largest, with one level per chunk, their mean magnitude.
 *
 *     m <- 0.95 r + g          payload: Q(top(m))          r <- m - Q(top(m))          g: pseudo-gradient, r: residual
 *
 * One level, not the paper's four: values above a threshold have just passed it, so a bit each is better spent on more
 * values (tests/lab/LOG.md).
 *
 * Payload: number of values (u32), then each chunk's kept values (kept_values.ts) with one level and a code of one bit,
 * 1 for negative. Chunks of embeddings keep twice as many, the whole stage the density. A value is at most 1 / (1 -
 * 0.95) rounds' worth.
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
import { isLevel, nearestLevel, valueOfLevel } from "../level.ts";
import { type ByteBounds, type EncodeInput, isWithin, type PayloadCodec, type ValueRange } from "./payload_codec.ts";
import { densities } from "../../config/payload_codec_names.ts";
import { averageSparse, decodeSparseResult, sparseResultBytes } from "./sparse_result.ts";

const feedback = 0.95; // share of the residual in the next payload
const embeddingFactor = 2; // density, relative to other values
const headBytes = 4;
const chunksInUnit = 64; // a few milliseconds

export const sparse = sparseCodec(densities.default);

/** Share of a stage's values that a payload keeps. */
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
    average: (slices) => averageSparse(slices, { layoutOf, boundsOf, levelOf }),
    decodeResult: decodeSparseResult,
  };
}

function chunkLayouts(density: number): LayoutOf {
  const layout = (values: number): ChunkLayout => ({
    values,
    mostKept: wantedOf(density, { values, embeddings: values, share: 0 }),
    codeBits: 1,
    levels: 1,
  });
  const whole = layout(chunkValues);
  return (values) => values === chunkValues ? whole : layout(values);
}

/** `embeddings`: of the chunk's values; `share`: of the stage's. */
function wantedOf(
  density: number,
  { values, embeddings, share }: Record<"values" | "embeddings" | "share", number>,
): number {
  const more = embeddingFactor - 1;
  const wanted = density * (values + more * embeddings) / (1 + more * share);
  return Math.min(values, Math.max(1, Math.round(wanted)));
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
      const embedded = overlap(embeddings.ranges, { start, end });
      const most = wantedOf(density, { values: end - start, embeddings: embedded, share: embeddings.share });
      const [wanted, rest] = [values.subarray(start, end), left.subarray(start, end)];
      for (let i = 0; i < wanted.length; i++) wanted[i] = wanted[i]! + feedback * rest[i]!;
      kept.count = chooseLargest(wanted, most, kept.places);
      const level = quantize(wanted, kept);
      writeKept(writer, { kept, levels: [level], layout: layoutOf(end - start) });
      leaveRest(wanted, { kept, level, rest });
    }
  });
  return writer.finish();
}

function overlap(ranges: readonly ValueRange[], { start, end }: ValueRange): number {
  return ranges.reduce((sum, range) => sum + Math.max(0, Math.min(end, range.end) - Math.max(start, range.start)), 0);
}

/** Sets the codes; the mean magnitude is closest to the values. */
function quantize(values: Float32Array, { places, codes, count }: KeptValues): number {
  let sum = 0;
  for (let i = 0; i < count; i++) {
    const each = values[places[i]!]!;
    sum += Math.abs(each);
    codes[i] = each < 0 ? 1 : 0;
  }
  return count === 0 ? 0 : nearestLevel(sum / count);
}

/** Non-finite values leave nothing: their payload is refused, but the next must not be. */
function leaveRest(
  values: Float32Array,
  { kept: { places, codes, count }, level, rest }: { kept: KeptValues; level: number; rest: Float32Array },
): void {
  rest.set(values);
  const sent = valueOfLevel(level);
  for (let i = 0; i < count; i++) {
    const place = places[i]!;
    rest[place] = values[place]! - (codes[i] === 0 ? sent : -sent);
  }
  if (isLevel(level)) return;
  for (let i = 0; i < rest.length; i++) {
    if (!Number.isFinite(rest[i])) rest[i] = 0;
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
      const layout = layoutOf(Math.min(chunkValues, values - chunk * chunkValues));
      const head = readHead(reader, layout);
      const level = head === null ? null : levelOf(head.levels);
      isPayload = head !== null && level !== null && readKept(reader, { head, layout, kept });
      if (!isPayload || level === null) continue;
      squareSum += kept.count * level * level;
      if (level > largest) largest = level;
    }
  });
  return isPayload && reader.isAtEnd ? { isFinite: true, squareSum, largest } : unreadable;
}

/** Zero for an empty table; null: not finite. */
function levelOf([level = 0]: readonly number[]): number | null {
  return isLevel(level) ? valueOfLevel(level) : null;
}
