/**
 * The places of a chunk's largest magnitudes, exactly: the lower place wins a tie, so every machine chooses the same.
 *
 * Without their sign, float32 patterns sort like the magnitudes, so the least chosen one is found digit by digit (11,
 * 10 and 10 bits) by counting digits: the first digit of all values, the others only of the remaining candidates.
 * Non-finite values count as the largest. Zeros are never chosen.
 */

const firstShift = 20;
const laterShifts = [10, 0];
const digitMask = 2 ** 10 - 1;
const counts = new Uint32Array(2 ** 11); // scratch
const magnitude = 0x7fff_ffff;

/**
 * Writes them to `places`, ascending, which has room for every value. Returns how many: `wanted`, or fewer if the rest
 * is zero.
 */
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

/** The digit of the `wanted`-th largest magnitude, and how many with that digit are wanted: all if there are fewer. */
function digitOf(wanted: number): { digit: number; left: number } {
  let [digit, left] = [counts.length - 1, wanted];
  for (; digit > 0 && counts[digit]! < left; digit--) left -= counts[digit]!;
  return { digit, left };
}

interface Candidates {
  readonly places: Uint16Array;
  readonly count: number;
  readonly digit: number; // the first of the candidates' remaining ones
  readonly left: number; // how many of those are wanted
}

/** Drops the candidates beyond those wanted. Returns how many stay. */
function keepLargest(patterns: Uint32Array, { places, count, digit, left }: Candidates): number {
  let threshold = digit; // the digits found so far of the least magnitude that stays
  let ties = left; // of those with these digits
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
