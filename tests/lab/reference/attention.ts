/**
 * Causal attention with grouped queries: query head h reads key/value head floor(h / (heads / kvHeads)); scale 1/sqrt(hd).
 * Projections and RoPE happen outside. The probabilities are kept for the backward: this is the oracle, not the product.
 */

export interface AttentionShape {
  readonly sequences: number; // B
  readonly positions: number; // T
  readonly heads: number; // H
  readonly kvHeads: number; // G
  readonly headWidth: number; // hd
}

export interface AttentionOperands {
  readonly q: Float64Array; // (B, T, H, hd)
  readonly k: Float64Array; // (B, T, G, hd)
  readonly v: Float64Array; // (B, T, G, hd)
}

export interface AttentionResult {
  readonly out: Float64Array; // (B, T, H, hd)
  readonly probabilities: Float64Array; // (B, H, T, T), zero above the diagonal
}

/** Start of a head's channels in (B, T, heads, hd). */
function headAt(shape: AttentionShape, heads: number, at: { b: number; t: number; head: number }): number {
  return ((at.b * shape.positions + at.t) * heads + at.head) * shape.headWidth;
}

export function attention({ q, k, v }: AttentionOperands, shape: AttentionShape): AttentionResult {
  const { sequences, positions, heads, kvHeads, headWidth } = shape;
  const scale = 1 / Math.sqrt(headWidth);
  const out = new Float64Array(q.length);
  const probabilities = new Float64Array(sequences * heads * positions * positions);
  for (let b = 0; b < sequences; b++) {
    for (let head = 0; head < heads; head++) {
      const group = Math.floor(head * kvHeads / heads);
      for (let t = 0; t < positions; t++) {
        const query = headAt(shape, heads, { b, t, head });
        const row = ((b * heads + head) * positions + t) * positions;
        for (let s = 0; s <= t; s++) {
          const key = headAt(shape, kvHeads, { b, t: s, head: group });
          let dot = 0;
          for (let c = 0; c < headWidth; c++) dot += q[query + c]! * k[key + c]!;
          probabilities[row + s] = dot * scale;
        }
        softmaxInPlace(probabilities.subarray(row, row + t + 1));
        for (let s = 0; s <= t; s++) {
          const value = headAt(shape, kvHeads, { b, t: s, head: group });
          const p = probabilities[row + s]!;
          for (let c = 0; c < headWidth; c++) out[query + c]! += p * v[value + c]!;
        }
      }
    }
  }
  return { out, probabilities };
}

/** The largest score is subtracted first, so no exponential overflows. */
function softmaxInPlace(scores: Float64Array): void {
  let largest = -Infinity;
  for (let s = 0; s < scores.length; s++) largest = Math.max(largest, scores[s]!);
  let sum = 0;
  for (let s = 0; s < scores.length; s++) {
    scores[s] = Math.exp(scores[s]! - largest);
    sum += scores[s]!;
  }
  for (let s = 0; s < scores.length; s++) scores[s]! /= sum;
}

export interface AttentionGradients extends AttentionOperands {
  readonly probabilities: Float64Array; // (B, H, T, T)
  readonly dOut: Float64Array; // (B, T, H, hd)
}

export interface AttentionInputGradients {
  readonly dq: Float64Array;
  readonly dk: Float64Array;
  readonly dv: Float64Array;
}

/** With dp = dOut v^T: dv = p^T dOut and ds = p * (dp - sum(p * dp)), the softmax's Jacobian. */
export function attentionBackward(operands: AttentionGradients, shape: AttentionShape): AttentionInputGradients {
  const { q, k, v, probabilities, dOut } = operands;
  const { sequences, positions, heads, kvHeads, headWidth } = shape;
  const scale = 1 / Math.sqrt(headWidth);
  const dq = new Float64Array(q.length);
  const dk = new Float64Array(k.length);
  const dv = new Float64Array(v.length);
  const dp = new Float64Array(positions);
  for (let b = 0; b < sequences; b++) {
    for (let head = 0; head < heads; head++) {
      const group = Math.floor(head * kvHeads / heads);
      for (let t = 0; t < positions; t++) {
        const query = headAt(shape, heads, { b, t, head });
        const row = ((b * heads + head) * positions + t) * positions;
        let mean = 0; // sum over s of p * dp
        for (let s = 0; s <= t; s++) {
          const value = headAt(shape, kvHeads, { b, t: s, head: group });
          const p = probabilities[row + s]!;
          let dot = 0;
          for (let c = 0; c < headWidth; c++) {
            dot += dOut[query + c]! * v[value + c]!;
            dv[value + c]! += p * dOut[query + c]!;
          }
          dp[s] = dot;
          mean += p * dot;
        }
        for (let s = 0; s <= t; s++) {
          const key = headAt(shape, kvHeads, { b, t: s, head: group });
          const ds = probabilities[row + s]! * (dp[s]! - mean) * scale;
          for (let c = 0; c < headWidth; c++) {
            dq[query + c]! += ds * k[key + c]!;
            dk[key + c]! += ds * q[query + c]!;
          }
        }
      }
    }
  }
  return { dq, dk, dv };
}
