/**
 * The loss of a model that knows only token frequencies, in nats per token: H = -Σ p ln p. No context-free model has a
 * lower loss on this text (`<|endoftext|>` included).
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
