/** What each operation of a stage writes, so that it can be looked at as soon as it is computed. */

import { qkvWidth } from "../attention_sizes.ts";
import type { BufferRange, StageOps } from "../stage_ops.ts";

/** A matrix in memory: of f32 values, or of a wire's bytes. */
export interface Output {
  readonly range: BufferRange;
  readonly rows: number;
  readonly rowBytes: number; // to the next row; a row may begin within a wider matrix
  readonly isBytes?: boolean; // not values. @default false
}

export type OperationName = keyof StageOps;

type Outputs = { readonly [Name in OperationName]: (...args: Parameters<StageOps[Name]>) => readonly Output[] };

const matrix = (range: BufferRange, rows: number, width: number): Output => ({ range, rows, rowBytes: 4 * width });
const wholeBytes = (range: BufferRange): Output => ({ range, rows: 1, rowBytes: range.size, isBytes: true });

export const outputs: Outputs = {
  linear: ({ rows, outWidth, outStride = outWidth }, { output }) => [matrix(output, rows, outStride)],
  linearInputGradient: ({ rows, inWidth }, { inputGradient }) => [matrix(inputGradient, rows, inWidth)],
  linearWeightGradient: ({ inWidth, outWidth }, { weightGradient }) => [matrix(weightGradient, outWidth, inWidth)],
  rmsNorm: ({ rows, width }, { output, inverseRms }) => [matrix(output, rows, width), matrix(inverseRms, rows, 1)],
  rmsNormBackward: ({ rows, width }, { inputGradient, gainGradient }) => [
    matrix(inputGradient, rows, width),
    matrix(gainGradient, 1, width),
  ],
  swiglu: ({ rows, width }, { activated }) => [matrix(activated, rows, width)],
  swigluBackward: ({ rows, width }, { gateUpGradient }) => [matrix(gateUpGradient, rows, 2 * width)],
  boundaryActivation: ({ rows, width }, { output }) => [matrix(output, rows, width)],
  boundaryActivationBackward: ({ rows, width }, { gradient }) => [matrix(gradient, rows, width)],
  prefix: ({ rows, targetWidth }, { target }) => [matrix(target, rows, targetWidth)],
  embed: ({ rows, width }, { output }) => [matrix(output, rows, width)],
  embedBackward: ({ ids, width }, { embeddingGradient }) => [matrix(embeddingGradient, ids, width)],
  crossEntropy: ({ rows, vocabulary, writeGradient }, { logits, losses }) => [
    matrix(losses, rows, 1),
    ...writeGradient ? [matrix(logits, rows, vocabulary)] : [],
  ],
  rotate: (sizes, { qkv }) => [matrix(qkv, sizes.sequences * sizes.length, qkvWidth(sizes))],
  attention: ({ sequences, length, heads, headWidth }, { output, logSumExp }) => [
    matrix(output, sequences * length, heads * headWidth),
    matrix(logSumExp, sequences * heads, length),
  ],
  attentionBackward: (sizes, { qkvGradient }) => [
    matrix(qkvGradient, sizes.sequences * sizes.length, qkvWidth(sizes)),
  ],
  bfloat16Encode: (_, { bytes }) => [wholeBytes(bytes)],
  bfloat16Decode: (count, { values }) => [matrix(values, 1, count)],
  codesEncode: ({ bytes }) => [wholeBytes(bytes)],
  codesDecode: ({ shape: { rows, width }, values }) => [matrix(values, rows, width)],
};

/** Bytes to read of it: the last row of a part of a wider matrix ends early. */
export const bytesOf = ({ range, rows, rowBytes }: Output): number => Math.min(range.size, rows * rowBytes);
