/**
 * The values that a chunk keeps, as bits: how many, a table of levels, then for each the gap to the one before it
 * (Rice-coded) and its code.
 *
 * Gaps cannot express a place twice or places in descending order. The encoder takes the Rice parameter with the fewest
 * bits, so `mostBits` bounds any choice of places. An untrusted count is compared with the chunk's limit before
 * anything is read; it has as many bits as that limit needs. Out of scope: what codes and levels mean.
 */

import { type BitReader, type BitWriter, lowestOne, mostAtOnce } from "./bit_stream.ts";
import { levelBits } from "../level.ts";
import type { ByteBounds } from "./payload_codec.ts";

export const chunkValues = 4096;

const riceBits = 4;
const mostRice = 12; // 2^12 is a whole chunk

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

/** The fewest bits of a chunk: those of a count of zero. */
const leastBits = ({ mostKept }: ChunkLayout): number => 32 - Math.clz32(mostKept);

/** The most bits of a chunk. */
export function mostBits(layout: ChunkLayout): number {
  const { values, mostKept, codeBits, levels } = layout;
  let least = Infinity;
  for (let rice = 0; rice <= mostRice; rice++) {
    const gaps = mostKept * (1 + rice) + Math.floor((values - mostKept) / 2 ** rice);
    least = Math.min(least, gaps);
  }
  return leastBits(layout) + riceBits + levels * levelBits + least + mostKept * codeBits;
}

/** The limits of a chunk by its number of values. */
export type LayoutOf = (values: number) => ChunkLayout;

/** The bytes of the chunks of this many values, after a head. */
export function chunksBytes(
  values: number,
  { layoutOf, headBytes }: { layoutOf: LayoutOf; headBytes: number },
): ByteBounds {
  const [whole, rest] = [Math.floor(values / chunkValues), values % chunkValues];
  const bytes = (bitsOf: (layout: ChunkLayout) => number): number => {
    const bits = whole * bitsOf(layoutOf(chunkValues)) + (rest > 0 ? bitsOf(layoutOf(rest)) : 0);
    return headBytes + Math.ceil(bits / 8);
  };
  return { least: bytes(leastBits), most: bytes(mostBits) };
}

/** Bits that the gaps take with this Rice parameter. */
function gapBits({ places, count }: KeptValues, rice: number): number {
  let bits = count * (1 + rice);
  let next = 0;
  for (let i = 0; i < count; i++) {
    const place = places[i]!;
    bits += (place - next) >>> rice;
    next = place + 1;
  }
  return bits;
}

/** The Rice parameter with the fewest bits, the least among equals. Starts near it: the sum is convex. */
function bestRice(kept: KeptValues): number {
  const { places, count } = kept;
  const passed = places[count - 1]! + 1 - count; // the sum of the gaps
  let best = Math.max(0, 31 - Math.clz32(passed / count));
  let bits = gapBits(kept, best);
  for (let next = best > 0 ? gapBits(kept, best - 1) : Infinity; next <= bits;) {
    [best, bits] = [best - 1, next];
    next = best > 0 ? gapBits(kept, best - 1) : Infinity;
  }
  while (best < mostRice) {
    const next = gapBits(kept, best + 1);
    if (next >= bits) break;
    [best, bits] = [best + 1, next];
  }
  return best;
}

export function writeKept(
  writer: BitWriter,
  { kept, levels, layout }: { kept: KeptValues; levels: readonly number[]; layout: ChunkLayout },
): void {
  const { places, codes, count } = kept;
  writer.write(count, leastBits(layout));
  if (count === 0) return;
  const rice = bestRice(kept);
  writer.write(rice, riceBits);
  for (const level of levels) writer.write(level, levelBits);
  const { codeBits } = layout;
  const [lowMask, fixedBits] = [(1 << rice) - 1, 1 + rice + codeBits];
  let next = 0;
  for (let i = 0; i < count; i++) {
    const place = places[i]!;
    const gap = place - next;
    next = place + 1;
    const zeros = gap >>> rice;
    const rest = (codes[i]! << rice) | (gap & lowMask);
    if (zeros + fixedBits <= mostAtOnce) {
      writer.write(((rest << 1) | 1) << zeros, zeros + fixedBits);
    } else {
      writer.writeUnary(zeros);
      writer.write(rest, rice + codeBits);
    }
  }
}

/** What precedes a chunk's values. */
export interface ChunkHead {
  readonly count: number;
  readonly rice: number;
  readonly levels: readonly number[]; // as bits, unchecked; none for an empty chunk
}

/** Null: not a valid head. */
export function readHead(reader: BitReader, layout: ChunkLayout): ChunkHead | null {
  const count = reader.read(leastBits(layout));
  if (count === 0) return { count, rice: 0, levels: [] };
  const rice = reader.read(riceBits);
  if (count > layout.mostKept || rice > mostRice) return null;
  const table: number[] = [];
  for (let i = 0; i < layout.levels; i++) table.push(reader.read(levelBits));
  return reader.isOverrun ? null : { count, rice, levels: table };
}

/** Reads the values after a head into `kept`. False: a place is outside the chunk, or the bytes end too early. */
export function readKept(
  reader: BitReader,
  { head, layout, kept }: { head: ChunkHead; layout: ChunkLayout; kept: KeptValues },
): boolean {
  const { count, rice } = head;
  const { values, codeBits } = layout;
  const { places, codes } = kept;
  const [lowMask, codeMask, fixedBits] = [(1 << rice) - 1, (1 << codeBits) - 1, 1 + rice + codeBits];
  kept.count = count;
  let next = 0;
  for (let i = 0; i < count; i++) {
    const word = reader.look();
    let zeros = lowestOne(word);
    let rest: number; // the gap's lowest bits, then the code
    if (word !== 0 && zeros + fixedBits <= mostAtOnce) {
      rest = word >>> (zeros + 1);
      reader.advance(zeros + fixedBits);
    } else {
      zeros = reader.readUnary(values >>> rice);
      rest = reader.read(rice + codeBits);
    }
    const place = next + (zeros << rice) + (rest & lowMask); // below 2^18: zeros are counted only to a chunk's end
    if (place >= values) return false;
    places[i] = place;
    codes[i] = (rest >>> rice) & codeMask;
    next = place + 1;
  }
  return !reader.isOverrun;
}
