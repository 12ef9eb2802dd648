/**
 * What layer builders need. They allocate as storage what they keep between forward and backward, everything else as
 * scratch, and return dispatches; they run nothing.
 */

import { assert, present } from "../../core/assert.ts";
import { type ParameterTable, parameterTable, type ParameterTensor, type StageSpec } from "../../core/model/spec.ts";
import type { DeviceVectors } from "../device_vector.ts";
import { type AttentionSizes, attentionSizes } from "../attention_sizes.ts";
import {
  type BufferRange,
  type CacheSizes,
  type DeviceBuffers,
  type Dispatch,
  gainChunkRows,
  type StageOps,
} from "../stage_ops.ts";
import type { CacheOptions } from "../compute.ts";

/** Only a stage that trains builds the backward, in its order. */
export interface Piece {
  readonly forward: readonly Dispatch[];
  readonly backward: () => readonly Dispatch[];
  /** Runs before the backward if shared memory has been used since. @default forward */
  readonly again?: readonly Dispatch[];
}

export interface LayerContext {
  readonly ops: StageOps;
  readonly buffers: DeviceBuffers;
  readonly spec: StageSpec;
  readonly rows: number; // B * T
  readonly width: number; // d
  readonly attention: AttentionSizes;
  readonly ropeTable: BufferRange; // (2, T or the cache's length, headWidth / 2)
  /** Null: rows are whole sequences. */
  readonly cache: TokenCache | null;
  /** dL/d(residual stream), (rows, d), changed in place by each layer. */
  readonly residualGradient: BufferRange;
  readonly recomputes: boolean;
  readonly parameter: (name: string) => BufferRange; // in one buffer
  readonly gradient: (name: string) => BufferRange;
  /** A matrix, or adjacent tensors that form one (q to v, gate to up), in parts of one buffer. */
  readonly matrixParts: (first: string, last?: string) => readonly MatrixPart[];
  /** For what a block's backward needs of its forward. */
  readonly holdOf: (layer: number) => Hold;
}

/** Keys and values of earlier tokens, of stages that continue texts. */
export interface TokenCache extends CacheSizes {
  readonly places: BufferRange; // u32 (rows, 2): stream, position
  /** Each (streams, kvHeads, length, headWidth). */
  readonly ofLayer: (layer: number) => { readonly keys: BufferRange; readonly values: BufferRange };
}

interface MatrixPart {
  readonly firstRow: number;
  readonly rows: number;
  readonly weight: BufferRange;
  readonly gradient: () => BufferRange;
}

/** The block's own, or shared if blocks are computed again. */
export type Hold = (part: string, count: number) => BufferRange;

export interface ContextOptions {
  readonly ops: StageOps;
  readonly buffers: DeviceBuffers;
  readonly spec: StageSpec;
  readonly vectors: Pick<DeviceVectors, "parameters" | "gradients">;
  readonly recomputes: boolean;
  readonly cache: CacheOptions | null;
  /** Of a program beside another for the same stage: they share keys and values, and no other memory. */
  readonly name?: string;
}

export function layerContext(options: ContextOptions): LayerContext {
  const { ops, buffers: shared, spec, vectors, recomputes, cache, name } = options;
  const buffers = name === undefined ? shared : named(shared, name);
  const table = parameterTable(spec);
  const attention = attentionSizes(spec);
  const positions = cache?.length ?? attention.length;
  const rows = spec.sequences * spec.model.contextLength;
  const { width } = spec.model;
  return {
    ops,
    buffers,
    spec,
    rows,
    width,
    attention,
    ropeTable: shared.scratch("rope table", positions * attention.headWidth),
    cache: cache === null ? null : tokenCache({ buffers, shared }, { ...attention, ...cache, rows }),
    residualGradient: buffers.scratch("residual gradient", rows * width),
    recomputes,
    parameter: (name) => vectors.parameters.part(tensorOf(table, name)),
    gradient: (name) => vectors.gradients.part(tensorOf(table, name)),
    matrixParts: (first, last) => partsOf(table, vectors, { first, last: last ?? first }),
    holdOf: (layer) => (part, count) =>
      recomputes ? buffers.scratch(`a block's ${part}`, count) : buffers.storage(`layer ${layer} ${part}`, count),
  };
}

function named(buffers: DeviceBuffers, name: string): DeviceBuffers {
  return {
    largestBytes: buffers.largestBytes,
    get storageBytes() {
      return buffers.storageBytes;
    },
    storage: (label, count) => buffers.storage(`${name}, ${label}`, count),
    scratch: (label, count) => buffers.scratch(`${name}, ${label}`, count),
    upload: (range, data) => buffers.upload(range, data),
  };
}

function tokenCache(
  { buffers, shared }: { buffers: DeviceBuffers; shared: DeviceBuffers },
  sizes: CacheSizes,
): TokenCache {
  const { rows, streams, length, kvHeads, headWidth } = sizes;
  const floats = streams * kvHeads * length * headWidth;
  return {
    ...sizes,
    places: buffers.storage("places", 2 * rows),
    ofLayer: (layer) => ({
      keys: shared.scratch(`layer ${layer} keys`, floats),
      values: shared.scratch(`layer ${layer} values`, floats),
    }),
  };
}

function tensorOf({ tensors }: ParameterTable, name: string): ParameterTensor {
  return present(tensors.find((tensor) => tensor.name === name), `The stage must hold a tensor named ${name}`);
}

function partsOf(
  table: ParameterTable,
  { parameters, gradients }: ContextOptions["vectors"],
  names: { first: string; last: string },
): MatrixPart[] {
  const [first, last] = [tensorOf(table, names.first), tensorOf(table, names.last)];
  const between = table.tensors.slice(table.tensors.indexOf(first), table.tensors.indexOf(last) + 1);
  const size = between.reduce((sum, tensor) => sum + tensor.size, 0);
  assert(last.offset + last.size - first.offset === size, `${names.first} to ${names.last} must be adjacent`);
  const columns = first.size / present(first.shape[0], "a matrix has rows");
  return parameters.pieces({ offset: first.offset, size }).map((piece) => ({
    firstRow: (piece.offset - first.offset) / columns,
    rows: piece.size / columns,
    weight: piece.range,
    gradient: () => gradients.part(piece),
  }));
}

export interface Norm {
  readonly output: BufferRange; // (rows, d)
  readonly forward: Dispatch;
  /** `inputGradient`: added to or overwritten. */
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

/** `names`: adjacent tensors that form one matrix. */
interface ProductOptions {
  readonly names: readonly [first: string, last?: string];
  readonly rows?: number; // default: a task's
  readonly inWidth: number;
  readonly outWidth: number;
  readonly input: BufferRange;
  readonly output: BufferRange;
  readonly residual?: BufferRange | undefined;
}

interface LinearOptions extends ProductOptions {
  readonly outputGradient: BufferRange;
  readonly inputGradient: BufferRange;
  readonly accumulate?: boolean; // adds to the input's gradient
}

/** Each part computes its columns of the output. */
export function buildProduct(context: LayerContext, options: ProductOptions): Dispatch[] {
  const { input, output, residual } = options;
  return linearParts(context, options).map(({ sizes, weight, columnsOf }) =>
    context.ops.linear(sizes, {
      ...{ input, weight, output: columnsOf(output), residual: residual && columnsOf(residual) },
    })
  );
}

/** Each part adds to the input's gradient. */
export function buildLinear(context: LayerContext, options: LinearOptions): Piece {
  const { ops } = context;
  const { input, outputGradient, inputGradient, accumulate = false } = options;
  const parts = linearParts(context, options);
  return {
    forward: buildProduct(context, options),
    backward: () => [
      ...parts.map(({ sizes, gradient, columnsOf }) =>
        ops.linearWeightGradient(sizes, {
          outputGradient: columnsOf(outputGradient),
          input,
          weightGradient: gradient(),
        })
      ),
      ...parts.map(({ sizes, weight, columnsOf }, i) =>
        ops.linearInputGradient({ ...sizes, accumulate: accumulate || i > 0 }, {
          ...{ outputGradient: columnsOf(outputGradient), weight, inputGradient },
        })
      ),
    ],
  };
}

function linearParts(context: LayerContext, options: ProductOptions) {
  const { names, rows = context.rows, inWidth, outWidth } = options;
  return context.matrixParts(...names).map((part) => ({
    ...part,
    sizes: { rows, inWidth, outWidth: part.rows, outStride: outWidth },
    columnsOf: (range: BufferRange) => columnsFrom(range, part.firstRow),
  }));
}

const columnsFrom = ({ buffer, offset, size }: BufferRange, column: number): BufferRange => ({
  ...{ buffer, offset: offset + 4 * column, size: size - 4 * column },
});
