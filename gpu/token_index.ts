/** The positions of each token id, so that the embedding's gradient is an ordered sum per row, without atomics. */

/** count of distinct ids, ids (n), starts (n + 1), positions (n); n tokens. */
export function tokenIndex(tokens: Uint32Array): Uint32Array {
  const n = tokens.length;
  const index = new Uint32Array(tokenIndexLength(n));
  const ids = index.subarray(1, 1 + n);
  const starts = index.subarray(1 + n, 2 + 2 * n);
  const positions = index.subarray(2 + 2 * n);
  for (let i = 0; i < n; i++) positions[i] = i;
  positions.sort((a, b) => tokens[a]! - tokens[b]! || a - b);
  let count = 0;
  for (let i = 0; i < n; i++) {
    const id = tokens[positions[i]!]!;
    if (i > 0 && ids[count - 1] === id) continue;
    ids[count] = id;
    starts[count] = i;
    count++;
  }
  starts[count] = n;
  index[0] = count;
  return index;
}

export const tokenIndexLength = (tokens: number): number => 2 + 3 * tokens;
