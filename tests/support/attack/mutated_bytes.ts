/** Good bytes altered by damage or malice, for fuzz tests. */

/** Bit flips, byte writes, cuts, growth, splices of two frames, and noise. */
export function mutate(source: Uint8Array, other: Uint8Array, pick: (below: number) => number): Uint8Array {
  const bytes = source.slice();
  switch (pick(6)) {
    case 0:
      return bytes.subarray(0, pick(bytes.length + 1));
    case 1:
      return Uint8Array.of(...bytes, ...other.subarray(0, pick(64)));
    case 2:
      return Uint8Array.of(...bytes.subarray(0, pick(bytes.length)), ...other.subarray(pick(other.length)));
    case 3:
      return Uint8Array.from({ length: pick(200) }, () => pick(256));
    default:
      for (let edits = 1 + pick(8); edits > 0; edits--) {
        const at = pick(bytes.length);
        bytes[at] = pick(2) === 0 ? pick(256) : bytes[at]! ^ (1 << pick(8));
      }
      return bytes;
  }
}
