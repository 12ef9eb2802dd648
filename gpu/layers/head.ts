/**
 * Final norm, untied output matrix and mean cross-entropy.
 *
 * Logits are computed for some rows at a time and replaced once their gradient is used: (tokens, vocabulary) would be
 * the largest buffer. Their number depends on the vocabulary only, so every device sums in the same order.
 */

import { type BufferRange, type Dispatch, partOf } from "../stage_ops.ts";
import { buildLinear, buildNorm, buildProduct, type LayerContext } from "./context.ts";

const matrixName = "lm_head.weight";
const logitsFloats = 2 ** 23; // 32 MiB
const rowsMultiple = 64; // any adapter can bind it

export interface Head {
  readonly targets: BufferRange; // u32 (rows)
  readonly losses: BufferRange; // (rows), nats
  readonly evaluate: readonly Dispatch[];
  /** Losses, the gradients of matrix and norm, dL/d(input). */
  readonly turnaround: readonly Dispatch[];
  readonly sampling: Sampling;
}

/** Logits of one row per sequence: copy rows of `normed` into `picked` between the two lists, unless they are the same. */
interface Sampling {
  readonly norm: readonly Dispatch[];
  readonly normed: BufferRange; // (rows, d)
  readonly picked: BufferRange; // (B, d)
  readonly project: readonly Dispatch[];
  readonly logits: BufferRange; // (B, V)
}

export function logitRows({ rows, vocabulary }: { rows: number; vocabulary: number }): number {
  return Math.min(rows, rowsMultiple * Math.max(1, Math.floor(logitsFloats / vocabulary / rowsMultiple)));
}

export function buildHead(context: LayerContext, options: { input: BufferRange }): Head {
  const { buffers, rows, width, spec, residualGradient } = context;
  const vocabulary = spec.model.vocabSize;
  const norm = buildNorm(context, {
    name: "model.norm.weight",
    input: options.input,
    hold: (part, count) => buffers.storage(`final norm ${part}`, count),
  });
  const targets = buffers.storage("targets", rows);
  const losses = buffers.storage("losses", rows);
  const held = logitRows({ rows, vocabulary });
  const logits = buffers.storage("logits", held * vocabulary);
  const normGradient = buffers.scratch("norm output gradient", rows * width);
  const parts: ReturnType<typeof partOfHead>[] = [];
  for (let first = 0; first < rows; first += held) {
    const count = Math.min(held, rows - first);
    const rowsOf = (range: BufferRange, floats: number) =>
      partOf(range, { offset: first * floats, size: count * floats });
    const part = { rows: count, targets: rowsOf(targets, 1), losses: rowsOf(losses, 1), logits };
    const [input, inputGradient] = [rowsOf(norm.output, width), rowsOf(normGradient, width)];
    parts.push(partOfHead(context, { ...part, input, inputGradient }));
  }
  return {
    targets,
    losses,
    evaluate: [norm.forward, ...parts.flatMap(({ evaluate }) => evaluate)],
    turnaround: context.cache !== null ? [] : [
      norm.forward,
      ...parts.flatMap(({ turnaround }) => turnaround()),
      ...norm.backward({ outputGradient: normGradient, inputGradient: residualGradient, accumulate: false }),
    ],
    sampling: buildSampling(context, { norm: norm.forward, normed: norm.output }),
  };
}

interface HeadPart {
  readonly rows: number;
  readonly input: BufferRange; // (rows, d), normed
  readonly inputGradient: BufferRange;
  readonly logits: BufferRange; // (rows, V) at its start, later the gradient
  readonly targets: BufferRange;
  readonly losses: BufferRange;
}

function partOfHead(context: LayerContext, { rows, input, inputGradient, logits, targets, losses }: HeadPart) {
  const { ops, width, rows: meanOver, spec } = context;
  const vocabulary = spec.model.vocabSize;
  const project = buildLinear(context, {
    ...{ names: [matrixName], rows, inWidth: width, outWidth: vocabulary, input, output: logits },
    ...{ outputGradient: logits, inputGradient }, // cross-entropy writes it there
  });
  const lossOf = (writeGradient: boolean) =>
    ops.crossEntropy({ rows, vocabulary, meanOver, writeGradient }, { targets, logits, losses });
  return {
    evaluate: [...project.forward, lossOf(false)],
    turnaround: () => [...project.forward, lossOf(true), ...project.backward()],
  };
}

function buildSampling(context: LayerContext, options: { norm: Dispatch; normed: BufferRange }): Sampling {
  const { buffers, width, spec } = context;
  const vocabulary = spec.model.vocabSize;
  const isAll = spec.model.contextLength === 1;
  const picked = isAll ? options.normed : buffers.storage("picked rows", spec.sequences * width);
  const logits = buffers.storage("picked logits", spec.sequences * vocabulary);
  const sizes = { rows: spec.sequences, inWidth: width, outWidth: vocabulary };
  const project = buildProduct(context, { names: [matrixName], ...sizes, input: picked, output: logits });
  return { norm: [options.norm], normed: options.normed, picked, project, logits };
}
