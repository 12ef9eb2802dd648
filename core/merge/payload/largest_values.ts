/**
 * The places of a chunk's largest magnitudes, exactly: the lower place wins a tie, so every machine chooses the same.
 *
 * Without their sign, float32 patterns sort like the magnitudes, so the least chosen one is found digit by digit (11, 10 and 10
 * bits) in counts of digits: a few passes whatever the number wanted. Non-finite values count as the largest. Zeros are never
 * chosen.
 */

const counts = new Uint32Array(2 ** 11); // scratch
const digits = [{ shift: 20, bits: 11 }, { shift: 10, bits: 10 }, { shift: 0, bits: 10 }];
const magnitude = 0x7fff_ffff;

/** Writes them to `places`, ascending. Returns how many: `wanted`, or fewer if the rest is zero. */
export function chooseLargest(values: Float32Array, wanted: number, places: Uint16Array): number {
  const patterns = new Uint32Array(values.buffer, values.byteOffset, values.length);
  const { threshold, ties } = leastChosen(patterns, wanted);
  let tiesLeft = ties;
  let count = 0;
  for (let i = 0; i < patterns.length; i++) {
    const pattern = patterns[i]! & magnitude;
    if (pattern < threshold || pattern === 0) continue;
    if (pattern === threshold && tiesLeft-- <= 0) continue;
    places[count++] = i;
  }
  return count;
}

/** The pattern of the least magnitude that is chosen, and how many of those equal to it are. */
function leastChosen(patterns: Uint32Array, wanted: number): { threshold: number; ties: number } {
  if (wanted >= patterns.length) return { threshold: 0, ties: patterns.length };
  let prefix = 0; // the digits found so far
  let left = wanted; // to be chosen among the magnitudes with this prefix
  let above = 31;
  for (const { shift, bits } of digits) {
    counts.fill(0);
    for (let i = 0; i < patterns.length; i++) {
      const pattern = patterns[i]! & magnitude;
      if (above === 31 || pattern >>> above === prefix) counts[(pattern >>> shift) & ((1 << bits) - 1)]! += 1;
    }
    let digit = (1 << bits) - 1;
    for (; digit > 0 && counts[digit]! < left; digit--) left -= counts[digit]!;
    prefix = (prefix << bits) | digit;
    above = shift;
  }
  return { threshold: prefix, ties: left };
}
