/**
 * The places of a chunk's largest magnitudes; the lower place wins a tie, so every machine chooses the same.
 *
 * Float32 patterns without sign sort like magnitudes, so the least chosen one is found by counting digits of 11, 10 and
 * 10 bits. Non-finite values count as the largest; zeros are never chosen.
 */

const firstShift = 20;
const laterShifts = [10, 0];
const digitMask = 2 ** 10 - 1;
const counts = new Uint32Array(2 ** 11);
const magnitude = 0x7fff_ffff;

/** Ascending, into `places`, with room for every value. Returns how many: fewer than `wanted` if the rest is zero. */
export function chooseLargest(values: Float32Array, wanted: number, places: Uint16Array): number {
  const patterns = new Uint32Array(values.buffer, values.byteOffset, values.length);
  counts.fill(0);
  for (let i = 0; i < patterns.length; i++) counts[(patterns[i]! & magnitude) >>> firstShift]! += 1;
  const first = digitOf(wanted);
  const least = Math.max(1, first.digit * 2 ** firstShift);
  let count = 0;
  for (let i = 0; i < patterns.length; i++) {
    if ((patterns[i]! & magnitude) >= least) places[count++] = i;
  }
  return count <= wanted ? count : keepLargest(patterns, { places, count, ...first });
}

/** The digit of the `wanted`-th largest magnitude, and how many with that digit are wanted. */
function digitOf(wanted: number): { digit: number; left: number } {
  let [digit, left] = [counts.length - 1, wanted];
  for (; digit > 0 && counts[digit]! < left; digit--) left -= counts[digit]!;
  return { digit, left };
}

interface Candidates {
  readonly places: Uint16Array;
  readonly count: number;
  readonly digit: number; // first digit of the candidates
  readonly left: number; // wanted with this digit
}

/** Returns how many stay. */
function keepLargest(patterns: Uint32Array, { places, count, digit, left }: Candidates): number {
  let threshold = digit; // digits so far of the least magnitude that stays
  let ties = left; // wanted with these digits
  let above = firstShift;
  for (const shift of laterShifts) {
    counts.fill(0);
    for (let i = 0; i < count; i++) {
      const pattern = patterns[places[i]!]! & magnitude;
      if (pattern >>> above === threshold) counts[(pattern >>> shift) & digitMask]! += 1;
    }
    const found = digitOf(ties);
    threshold = (threshold << 10) | found.digit;
    ties = found.left;
    above = shift;
  }
  let kept = 0;
  for (let i = 0; i < count; i++) {
    const pattern = patterns[places[i]!]! & magnitude;
    if (pattern < threshold || (pattern === threshold && ties-- <= 0)) continue;
    places[kept++] = places[i]!;
  }
  return kept;
}
