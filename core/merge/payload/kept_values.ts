/**
 * The values that a chunk keeps, as bits: how many, a table of levels, then for each the gap to the one before it (Rice-coded)
 * and its code.
 *
 * Gaps cannot express a place twice or places in descending order. The encoder takes the Rice parameter with the fewest bits,
 * so `mostBits` bounds any choice of places. A stranger's count is compared with the chunk's limit before anything is read.
 * Out of scope: what codes and levels mean.
 */

import type { BitReader, BitWriter } from "./bit_stream.ts";
import { levelBits } from "./level.ts";

export const chunkValues = 4096;

const countBits = 13;
const riceBits = 4;
const mostRice = 12; // 2^12 is a whole chunk

/** Of a chunk without values. */
export const emptyChunkBits = countBits;

/** Places in ascending order, and codes; the memory is reused from chunk to chunk. */
export class KeptValues {
  readonly places = new Uint16Array(chunkValues);
  readonly codes = new Uint8Array(chunkValues);
  count = 0;
}

export interface ChunkLayout {
  readonly values: number; // of the chunk, kept or not
  readonly mostKept: number;
  readonly codeBits: number;
  readonly levels: number; // in its table
}

/** The most bits of a chunk. */
export function mostBits({ values, mostKept, codeBits, levels }: ChunkLayout): number {
  let least = Infinity;
  for (let rice = 0; rice <= mostRice; rice++) {
    const gaps = mostKept * (1 + rice) + Math.floor((values - mostKept) / 2 ** rice);
    least = Math.min(least, gaps);
  }
  return countBits + riceBits + levels * levelBits + least + mostKept * codeBits;
}

/** Bits that the gaps take; the least over all Rice parameters, since the sum is convex in it. */
function bestRice({ places, count }: KeptValues): number {
  let best = 0;
  let leastBits = Infinity;
  for (let rice = 0; rice <= mostRice; rice++) {
    let bits = count * (1 + rice);
    let next = 0;
    for (let i = 0; i < count; i++) {
      bits += (places[i]! - next) >>> rice;
      next = places[i]! + 1;
    }
    if (bits >= leastBits) break;
    [best, leastBits] = [rice, bits];
  }
  return best;
}

export function writeKept(
  writer: BitWriter,
  { kept, levels, codeBits }: { kept: KeptValues; levels: readonly number[]; codeBits: number },
): void {
  const { places, codes, count } = kept;
  writer.write(count, countBits);
  if (count === 0) return;
  const rice = bestRice(kept);
  writer.write(rice, riceBits);
  for (const level of levels) writer.write(level, levelBits);
  let next = 0;
  for (let i = 0; i < count; i++) {
    const gap = places[i]! - next;
    next = places[i]! + 1;
    writer.writeUnary(gap >>> rice);
    writer.write(gap & ((1 << rice) - 1), rice);
    writer.write(codes[i]!, codeBits);
  }
}

/** What comes before a chunk's values. */
export interface ChunkHead {
  readonly count: number;
  readonly rice: number;
  readonly levels: readonly number[]; // as bits, unchecked; none of an empty chunk
}

/** Null: no such chunk. */
export function readHead(reader: BitReader, { mostKept, levels }: ChunkLayout): ChunkHead | null {
  const count = reader.read(countBits);
  if (count === 0) return { count, rice: 0, levels: [] };
  const rice = reader.read(riceBits);
  if (count > mostKept || rice > mostRice) return null;
  const table: number[] = [];
  for (let i = 0; i < levels; i++) table.push(reader.read(levelBits));
  return reader.isOverrun ? null : { count, rice, levels: table };
}

/** Reads the values after a head into `kept`. False: a place lies beyond the chunk, or the bytes end before. */
export function readKept(
  reader: BitReader,
  { head, layout, kept }: { head: ChunkHead; layout: ChunkLayout; kept: KeptValues },
): boolean {
  const { count, rice } = head;
  const { values, codeBits } = layout;
  const { places, codes } = kept;
  kept.count = count;
  let next = 0;
  for (let i = 0; i < count; i++) {
    const gap = reader.readUnary(values >>> rice) * 2 ** rice + reader.read(rice);
    const place = next + gap;
    if (place >= values) return false;
    places[i] = place;
    codes[i] = reader.read(codeBits);
    next = place + 1;
  }
  return !reader.isOverrun;
}
