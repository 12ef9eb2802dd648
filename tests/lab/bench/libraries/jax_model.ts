/**
 * Our model in jax-js: embedding, blocks of RMS norm, rotary causal attention and SwiGLU, head and mean cross-entropy.
 *
 * Matrices are stored (in, out). The embedding is a product with one-hot rows, which is how its gradient is a product too.
 */

import type { StepTask } from "../compute/task.ts";
import type { Jax, JaxArray } from "./jax_api.ts";

type Layer = { [name in "n1" | "n2" | "q" | "k" | "v" | "o" | "gate" | "up" | "down"]: JaxArray };
export type JaxParameters = { embedding: JaxArray; head: JaxArray; norm: JaxArray; layers: Layer[] };

/** Of a microbatch; tables are (T, headWidth / 2). */
export type JaxBatch = { tokens: JaxArray; targets: JaxArray; cosines: JaxArray; sines: JaxArray };

export function initialJaxParameters(jax: Jax, { model }: StepTask): JaxParameters {
  const { vocabSize, width, layers, heads, kvHeads, ffnWidth } = model;
  let seed = 1;
  const random = () => (seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0) / 2 ** 32 - 0.5;
  const matrix = (rows: number, columns: number, std = 1 / Math.sqrt(rows)) =>
    jax.numpy.array(Float32Array.from({ length: rows * columns }, () => random() * Math.sqrt(12) * std))
      .reshape([rows, columns]);
  const ones = () => jax.numpy.array(new Float32Array(width).fill(1));
  const kvWidth = width * kvHeads / heads;
  const residual = (rows: number) => matrix(rows, width, 1 / Math.sqrt(rows * 2 * layers));
  const layer = (): Layer => ({
    ...{ n1: ones(), n2: ones() },
    ...{ q: matrix(width, width), k: matrix(width, kvWidth), v: matrix(width, kvWidth), o: residual(width) },
    ...{ gate: matrix(width, ffnWidth), up: matrix(width, ffnWidth), down: residual(ffnWidth) },
  });
  return {
    embedding: matrix(vocabSize, width, 0.02),
    head: matrix(width, vocabSize),
    norm: ones(),
    layers: Array.from({ length: layers }, layer),
  };
}

export function jaxLoss(jax: Jax, { model, sequences }: StepTask): (p: JaxParameters, batch: JaxBatch) => JaxArray {
  const { numpy, nn } = jax;
  const { contextLength, width, heads, kvHeads, vocabSize, normEpsilon } = model;
  const headWidth = width / heads;
  const normed = (x: JaxArray, gain: JaxArray) => {
    const square = numpy.mean(x.ref.mul(x.ref), -1, { keepdims: true });
    return x.mul(gain).div(numpy.sqrt(square.add(normEpsilon)));
  };
  const rotated = (x: JaxArray, { cosines, sines }: Pick<JaxBatch, "cosines" | "sines">) => {
    const table = (each: JaxArray) => each.ref.reshape([1, contextLength, 1, headWidth / 2]);
    const [a, b] = numpy.split(x, 2, -1);
    const [cos, sin] = [table(cosines), table(sines)];
    const first = a.ref.mul(cos.ref).sub(b.ref.mul(sin.ref));
    return numpy.concatenate([first, a.mul(sin).add(b.mul(cos))], -1);
  };
  const inHeads = (x: JaxArray, count: number) => x.reshape([sequences, contextLength, count, headWidth]);
  return ({ embedding, head, norm, layers }, { tokens, targets, ...tables }) => {
    let x = numpy.matmul(nn.oneHot(tokens, vocabSize), embedding);
    for (const { n1, n2, q, k, v, o, gate, up, down } of layers) {
      const input = normed(x.ref, n1);
      const attended = nn.dotProductAttention(
        rotated(inHeads(numpy.matmul(input.ref, q), heads), tables),
        rotated(inHeads(numpy.matmul(input.ref, k), kvHeads), tables),
        inHeads(numpy.matmul(input, v), kvHeads),
        { isCausal: true },
      );
      x = x.add(numpy.matmul(attended.reshape([sequences * contextLength, width]), o));
      const wide = normed(x.ref, n2);
      x = x.add(numpy.matmul(nn.silu(numpy.matmul(wide.ref, gate)).mul(numpy.matmul(wide, up)), down));
    }
    Object.values(tables).forEach((each) => each.dispose());
    const logits = nn.logSoftmax(numpy.matmul(normed(x, norm), head), -1);
    return numpy.mean(numpy.sum(logits.mul(nn.oneHot(targets, vocabSize)), -1)).mul(-1);
  };
}
