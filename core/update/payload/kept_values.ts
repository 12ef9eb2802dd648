/**
 * The values that a chunk keeps, as bits: their number, a table of levels, then for each the gap to the one before
 * (Rice-coded) and its code.
 *
 * Gaps cannot repeat a place or descend. The shortest Rice parameter is used, so `mostBits` bounds any choice. A count
 * is checked before anything is read.
 */

import { type BitReader, type BitWriter, lowestOne, mostAtOnce } from "./bit_stream.ts";
import { levelBits } from "../level.ts";
import type { ByteBounds } from "./payload_codec.ts";

export const chunkValues = 4096;

const riceBits = 4;
const mostRice = 12; // 2^12 is a chunk

/** Places ascend; the memory is reused. */
export class KeptValues {
  readonly places = new Uint16Array(chunkValues);
  readonly codes = new Uint8Array(chunkValues);
  count = 0;
}

export interface ChunkLayout {
  readonly values: number; // of the chunk
  readonly mostKept: number;
  readonly codeBits: number;
  readonly levels: number; // in the table
}

/** Those of an empty chunk. */
const leastBits = ({ mostKept }: ChunkLayout): number => 32 - Math.clz32(mostKept);

export function mostBits(layout: ChunkLayout): number {
  const { values, mostKept, codeBits, levels } = layout;
  let least = Infinity;
  for (let rice = 0; rice <= mostRice; rice++) {
    const gaps = mostKept * (1 + rice) + Math.floor((values - mostKept) / 2 ** rice);
    least = Math.min(least, gaps);
  }
  return leastBits(layout) + riceBits + levels * levelBits + least + mostKept * codeBits;
}

/** By a chunk's number of values. */
export type LayoutOf = (values: number) => ChunkLayout;

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

/** The shortest, the least among equals. Starts near it: the sum is convex. */
function bestRice(kept: KeptValues): number {
  const { places, count } = kept;
  const passed = places[count - 1]! + 1 - count; // sum of the gaps
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

export interface ChunkHead {
  readonly count: number;
  readonly rice: number;
  readonly levels: readonly number[]; // unchecked bits; none for an empty chunk
}

/** Null: invalid. */
export function readHead(reader: BitReader, layout: ChunkLayout): ChunkHead | null {
  const count = reader.read(leastBits(layout));
  if (count === 0) return { count, rice: 0, levels: [] };
  const rice = reader.read(riceBits);
  if (count > layout.mostKept || rice > mostRice) return null;
  const table: number[] = [];
  for (let i = 0; i < layout.levels; i++) table.push(reader.read(levelBits));
  return reader.isOverrun ? null : { count, rice, levels: table };
}

/** False: a place is outside, or the bytes end too early. */
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
    const place = next + (zeros << rice) + (rest & lowMask); // below 2^18: zeros end with the chunk
    if (place >= values) return false;
    places[i] = place;
    codes[i] = (rest >>> rice) & codeMask;
    next = place + 1;
  }
  return !reader.isOverrun;
}
