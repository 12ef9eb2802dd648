/**
 * What every layer builder needs: the operations, the stage's sizes, its parameters and gradients by name, and the scratch
 * buffers that layers share in the backward pass.
 *
 * A layer builder allocates what it must keep between forward and backward as storage, all else as scratch, and returns
 * dispatches; it never runs anything.
 */

import { assert, present } from "../../core/assert.ts";
import { type ParameterTable, parameterTable, type StageSpec } from "../../core/model/spec.ts";
import { type AttentionSizes, attentionSizes } from "../attention_sizes.ts";
import { type BufferRange, type DeviceBuffers, type Dispatch, gainChunkRows, type StageOps } from "../stage_ops.ts";

/** Two dispatch lists; `backward` is already in backward order. */
export interface Piece {
  readonly forward: readonly Dispatch[];
  readonly backward: readonly Dispatch[];
}

export interface LayerContext {
  readonly ops: StageOps;
  readonly buffers: DeviceBuffers;
  readonly spec: StageSpec;
  readonly rows: number; // B * T
  readonly width: number; // d
  readonly attention: AttentionSizes;
  readonly ropeTable: BufferRange;
  /** dL/d(residual stream), (rows, d): every layer converts it in place from its output's gradient to its input's. */
  readonly residualGradient: BufferRange;
  readonly parameter: (first: string, last?: string) => BufferRange;
  readonly gradient: (first: string, last?: string) => BufferRange;
  /** Memory of a block for what its backward needs of its forward. */
  readonly holdOf: (layer: number) => Hold;
}

/** Memory for a named part: the block's own, or shared by all blocks that compute it again. */
export type Hold = (part: string, count: number) => BufferRange;

export interface ContextOptions {
  readonly ops: StageOps;
  readonly buffers: DeviceBuffers;
  readonly spec: StageSpec;
  readonly parameters: BufferRange;
  readonly gradients: BufferRange;
  readonly recomputes: boolean; // each block's backward computes its forward again
}

export function layerContext({ ops, buffers, spec, parameters, gradients, recomputes }: ContextOptions): LayerContext {
  const table = parameterTable(spec);
  const attention = attentionSizes(spec);
  const rows = spec.sequences * spec.model.contextLength;
  const { width } = spec.model;
  return {
    ops,
    buffers,
    spec,
    rows,
    width,
    attention,
    ropeTable: buffers.scratch("rope table", attention.length * attention.headWidth),
    residualGradient: buffers.scratch("residual gradient", rows * width),
    parameter: (first, last) => rangeOf(table, parameters, { first, last: last ?? first }),
    gradient: (first, last) => rangeOf(table, gradients, { first, last: last ?? first }),
    holdOf: (layer) => (part, count) =>
      recomputes ? buffers.scratch(`a block's ${part}`, count) : buffers.storage(`layer ${layer} ${part}`, count),
  };
}

/** The bytes of one tensor, or of adjacent ones that form one matrix (q to v, gate to up). */
function rangeOf(table: ParameterTable, flat: BufferRange, names: { first: string; last: string }): BufferRange {
  const find = (name: string) =>
    present(table.tensors.find((tensor) => tensor.name === name), `The stage must hold a tensor named ${name}`);
  const first = find(names.first);
  const last = find(names.last);
  const between = table.tensors.slice(table.tensors.indexOf(first), table.tensors.indexOf(last) + 1);
  const size = between.reduce((sum, tensor) => sum + tensor.size, 0);
  assert(last.offset + last.size - first.offset === size, `${names.first} to ${names.last} must be adjacent`);
  return { buffer: flat.buffer, offset: flat.offset + first.offset * 4, size: size * 4 };
}

/** RMSNorm with what its backward needs. */
export interface Norm {
  readonly output: BufferRange; // (rows, d)
  readonly forward: Dispatch;
  /** From the gradient of `output` to that of the input: added to `inputGradient`, or overwriting it. */
  readonly backward: (
    options: { outputGradient: BufferRange; inputGradient: BufferRange; accumulate: boolean },
  ) => Dispatch[];
}

export function buildNorm(context: LayerContext, options: { name: string; input: BufferRange; hold: Hold }): Norm {
  const { ops, buffers, rows, width, spec } = context;
  const { name, input, hold } = options;
  const gain = context.parameter(name);
  const output = hold("output", rows * width);
  const inverseRms = hold("inverse rms", rows);
  const partial = buffers.scratch("gain partial sums", Math.ceil(rows / gainChunkRows) * width);
  return {
    output,
    forward: ops.rmsNorm({ rows, width, epsilon: spec.model.normEpsilon }, { input, gain, output, inverseRms }),
    backward: ({ outputGradient, inputGradient, accumulate }) =>
      ops.rmsNormBackward({ rows, width, accumulate }, {
        input,
        gain,
        inverseRms,
        outputGradient,
        inputGradient,
        gainGradient: context.gradient(name),
        partial,
      }),
  };
}

/** A linear layer with both gradients; `names` are adjacent tensors that form one matrix. */
export interface LinearOptions {
  readonly names: readonly [first: string, last?: string];
  readonly inWidth: number;
  readonly outWidth: number;
  readonly input: BufferRange;
  readonly output: BufferRange;
  readonly residual?: BufferRange | undefined;
  readonly outputGradient: BufferRange;
  readonly inputGradient: BufferRange;
}

export function buildLinear(context: LayerContext, options: LinearOptions): Piece {
  const { ops, rows } = context;
  const { names, inWidth, outWidth, input, output, residual, outputGradient, inputGradient } = options;
  const weight = context.parameter(...names);
  const sizes = { rows, inWidth, outWidth };
  return {
    forward: [ops.linear(sizes, { input, weight, output, residual })],
    backward: [
      ops.linearWeightGradient(sizes, { outputGradient, input, weightGradient: context.gradient(...names) }),
      ops.linearInputGradient(sizes, { outputGradient, weight, inputGradient }),
    ],
  };
}
