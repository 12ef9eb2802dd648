/**
 * Softmax cross-entropy in nats: loss = log(sum(exp(logits))) - logits[target], per row. The largest logit is subtracted
 * first, so logits of any size give a finite loss.
 */

export interface CrossEntropyOperands {
  readonly logits: Float64Array; // (N, V)
  readonly targets: Uint32Array; // (N)
}

/** log(sum(exp(row))). */
function logSumExp(row: Float64Array): number {
  let largest = -Infinity;
  for (let v = 0; v < row.length; v++) largest = Math.max(largest, row[v]!);
  let sum = 0;
  for (let v = 0; v < row.length; v++) sum += Math.exp(row[v]! - largest);
  return largest + Math.log(sum);
}

/** Loss of every row (N). */
export function crossEntropy({ logits, targets }: CrossEntropyOperands, vocabSize: number): Float64Array {
  const losses = new Float64Array(targets.length);
  for (let n = 0; n < targets.length; n++) {
    const row = logits.subarray(n * vocabSize, (n + 1) * vocabSize);
    losses[n] = logSumExp(row) - row[targets[n]!]!;
  }
  return losses;
}

/** Gradient of the *mean* over the N rows: (softmax - one-hot) / N, as (N, V). */
export function crossEntropyBackward({ logits, targets }: CrossEntropyOperands, vocabSize: number): Float64Array {
  const rows = targets.length;
  const dLogits = new Float64Array(rows * vocabSize);
  for (let n = 0; n < rows; n++) {
    const row = logits.subarray(n * vocabSize, (n + 1) * vocabSize);
    const total = logSumExp(row);
    for (let v = 0; v < vocabSize; v++) {
      const isTarget = v === targets[n] ? 1 : 0;
      dLogits[n * vocabSize + v] = (Math.exp(row[v]! - total) - isTarget) / rows;
    }
  }
  return dLogits;
}
