/**
 * The loss of a model that only knows token frequencies: the upper bound that a trained model must beat.
 *
 * H = -Σ p ln p in nats per token, p being the token's share of this text (`<|endoftext|>` included). It is the lowest loss any
 * context-free model can reach on the text, so beating it proves that context is used.
 */
export function unigramEntropy(tokens: Iterable<number>): number {
  const counts = new Map<number, number>();
  let total = 0;
  for (const token of tokens) {
    counts.set(token, (counts.get(token) ?? 0) + 1);
    total++;
  }
  let entropy = 0;
  for (const count of counts.values()) entropy -= (count / total) * Math.log(count / total);
  return entropy;
}
