/** Token embedding: row `token` of the table. Its backward scatters, so a token that occurs twice receives both gradients. */

/** (N, d) */
export function embedding(
  { tokens, table }: { tokens: Uint32Array; table: Float64Array }, // (N), (V, d)
  width: number,
): Float64Array {
  const x = new Float64Array(tokens.length * width);
  for (let n = 0; n < tokens.length; n++) {
    const row = tokens[n]! * width;
    x.set(table.subarray(row, row + width), n * width);
  }
  return x;
}

/** Adds dx (N, d) to `dTable` (V, d). */
export function embeddingBackward(
  { tokens, dx, dTable }: { tokens: Uint32Array; dx: Float64Array; dTable: Float64Array },
  width: number,
): void {
  for (let n = 0; n < tokens.length; n++) {
    const row = tokens[n]! * width;
    for (let c = 0; c < width; c++) dTable[row + c]! += dx[n * width + c]!;
  }
}
