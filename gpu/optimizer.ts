/**
 * AdamW and the gradient norm of a stage, over its flat vectors. A vector larger than one storage binding is cut into
 * ranges, each with its own dispatch.
 */

import type { StepOptions } from "./compute.ts";
import type { BufferRange, StageBuffers } from "./buffers.ts";
import type { Dispatch, Kernels } from "./kernel.ts";
import adamw from "./wgsl/adamw.wgsl" with { type: "text" };
import squareSum from "./wgsl/square_sum.wgsl" with { type: "text" };

const lanes = 64; // the workgroup size of both kernels
const stripes = 4096; // STRIPES of square_sum.wgsl
const hyperWords = 12; // Hyper of adamw.wgsl, padded to 16 bytes
const groupsPerRow = 32768; // below every adapter's limit of workgroups along one axis

export interface OptimizerState {
  readonly parameters: BufferRange;
  readonly gradients: BufferRange;
  readonly firstMoments: BufferRange;
  readonly secondMoments: BufferRange;
}

export interface Optimizer {
  readonly hyper: BufferRange; // write `hyperBytes` here before running `step`
  readonly step: readonly Dispatch[]; // also clears the gradients
  readonly squareSum: readonly Dispatch[];
  readonly partialSums: BufferRange; // f32; their sum is the squared norm
}

export function buildOptimizer(
  kernels: Kernels,
  buffers: StageBuffers,
  options: { state: OptimizerState; length: number; decayLength: number; bindingBytes: number },
): Optimizer {
  const { state, length, decayLength } = options;
  const rangeFloats = Math.floor(options.bindingBytes / 1024) * 256; // keeps every start a multiple of 256 bytes
  const starts: number[] = [];
  for (let start = 0; start < length; start += rangeFloats) starts.push(start);
  const hyper = buffers.uniform("hyper parameters", hyperWords * 4);
  const partialSums = buffers.storage("partial square sums", stripes * starts.length);
  const part = (range: BufferRange, start: number): BufferRange => ({
    buffer: range.buffer,
    offset: range.offset + start * 4,
    size: Math.min(rangeFloats, length - start) * 4,
  });
  const step = starts.map((start) => {
    const vectors = Math.min(rangeFloats, length - start) / 4;
    const groups = Math.ceil(vectors / lanes);
    const decayVectors = Math.min(Math.max(decayLength - start, 0) / 4, vectors);
    const { parameters, gradients, firstMoments, secondMoments } = state;
    return kernels.dispatch({
      kernel: { label: "adamw", source: adamw },
      bindings: [...[parameters, gradients, firstMoments, secondMoments].map((range) => part(range, start)), hyper],
      constants: [vectors, decayVectors, groupsPerRow],
      workgroups: [Math.min(groups, groupsPerRow), Math.ceil(groups / groupsPerRow)],
    });
  });
  const squares = starts.map((start, i) =>
    kernels.dispatch({
      kernel: { label: "square_sum", source: squareSum },
      bindings: [part(state.gradients, start), { ...partialSums, offset: i * stripes * 4, size: stripes * 4 }],
      constants: [Math.min(rangeFloats, length - start) / 4],
      workgroups: [stripes / lanes],
    })
  );
  return { hyper, step, squareSum: squares, partialSums };
}

/** The Hyper struct of adamw.wgsl for the `steps`-th step, counted from 1. */
export function hyperValues(options: StepOptions, steps: number): Float32Array {
  const { learningRate, gradientScale, beta1, beta2, epsilon, weightDecay } = options;
  return Float32Array.of(
    learningRate,
    gradientScale,
    beta1,
    beta2,
    1 - beta1,
    1 - beta2,
    1 / (1 - beta1 ** steps),
    1 / (1 - beta2 ** steps),
    epsilon,
    learningRate * weightDecay,
    0,
    0,
  );
}
