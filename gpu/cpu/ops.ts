/**
 * The operations of a stage on the processor (stage_ops.ts has their contract): each a closure over fixed addresses that calls
 * the kernels.
 */

import { assert } from "../../core/assert.ts";
import { decodeBfloat16, encodeBfloat16 } from "../../core/codec/bfloat16.ts";
import type { AttentionSizes } from "../attention_sizes.ts";
import { qkvWidth } from "../attention_sizes.ts";
import type {
  AttentionGradientTensors,
  AttentionTensors,
  BufferRange,
  EmbedSizes,
  LinearSizes,
  NormGradientTensors,
  RowSizes,
  StageOps,
} from "../stage_ops.ts";
import { CpuAttention } from "./attention.ts";
import { type CpuDispatch, kernelDispatch } from "./cpu_dispatch.ts";
import { Gemm, type Operand, type Product } from "./gemm.ts";
import type { CpuKernels } from "./kernels/cpu_kernels.ts";
import type { CpuMemory } from "./memory.ts";

const lines = ({ offset }: BufferRange, width: number): Operand => ({
  address: offset,
  rowBytes: 4 * width,
  layout: "lines",
});
const rowsOf = (range: BufferRange, width: number): Operand => ({ ...lines(range, width), layout: "rows" });

export class CpuOps implements StageOps {
  readonly #memory: CpuMemory;
  readonly #kernels: CpuKernels;
  readonly #gemm: Gemm;
  #attention: CpuAttention | null = null; // a stage has one shape of attention

  constructor(memory: CpuMemory, kernels: CpuKernels) {
    this.#memory = memory;
    this.#kernels = kernels;
    this.#gemm = new Gemm(memory, kernels);
  }

  linear(
    { rows, inWidth, outWidth, outStride = outWidth }: LinearSizes,
    tensors: { input: BufferRange; weight: BufferRange; output: BufferRange; residual?: BufferRange | undefined },
  ): CpuDispatch {
    const { input, weight, output, residual } = tensors;
    const product = this.#product({
      ...{
        a: lines(input, inWidth),
        b: lines(weight, inWidth),
        c: { address: output.offset, rowBytes: 4 * outStride },
      },
      ...{ rows, columns: outWidth, depth: inWidth, adds: residual !== undefined },
    });
    if (residual === undefined) return { label: "linear", run: product };
    return {
      label: "linear and residual",
      run: () => {
        const [from, to] = [this.#memory.floats(residual), this.#memory.floats(output)];
        if (outStride === outWidth) to.set(from.subarray(0, rows * outWidth));
        else for (let i = 0; i < rows * outStride; i += outStride) to.set(from.subarray(i, i + outWidth), i);
        product();
      },
    };
  }

  linearInputGradient(
    { rows, inWidth, outWidth, outStride = outWidth, accumulate = false }: LinearSizes & { accumulate?: boolean },
    { outputGradient, weight, inputGradient }: Record<"outputGradient" | "weight" | "inputGradient", BufferRange>,
  ): CpuDispatch {
    const run = this.#product({
      ...{ a: lines(outputGradient, outStride), b: rowsOf(weight, inWidth) },
      ...{ c: { address: inputGradient.offset, rowBytes: 4 * inWidth } },
      ...{ rows, columns: inWidth, depth: outWidth, adds: accumulate },
    });
    return { label: "linear input gradient", run };
  }

  linearWeightGradient(
    { rows, inWidth, outWidth, outStride = outWidth }: LinearSizes,
    { outputGradient, input, weightGradient }: Record<"outputGradient" | "input" | "weightGradient", BufferRange>,
  ): CpuDispatch {
    const run = this.#product({
      ...{ a: rowsOf(outputGradient, outStride), b: rowsOf(input, inWidth) },
      ...{ c: { address: weightGradient.offset, rowBytes: 4 * inWidth } },
      ...{ rows: outWidth, columns: inWidth, depth: rows, adds: true },
    });
    return { label: "linear weight gradient", run };
  }

  #product(product: Product): () => void {
    const { columns, depth, a, b } = product;
    const isWhole = columns % 4 === 0 && (depth % 4 === 0 || (a.layout === "rows" && b.layout === "rows"));
    assert(isWhole, `Cannot multiply as columns ${columns}, depth ${depth} must divide by 4`);
    return () => this.#gemm.multiply(product);
  }

  rmsNorm(
    { rows, width, epsilon }: RowSizes & { epsilon: number },
    tensors: { input: BufferRange; gain: BufferRange; output: BufferRange; inverseRms: BufferRange },
  ): CpuDispatch {
    const { input, gain, output, inverseRms } = tensors;
    return this.#call("norm", [input, gain, output, inverseRms], [rows, 4 * width, 1 / width, epsilon]);
  }

  rmsNormBackward(
    { rows, width, accumulate }: RowSizes & { accumulate: boolean },
    { input, gain, inverseRms, outputGradient, inputGradient, gainGradient }: NormGradientTensors,
  ): CpuDispatch[] {
    const bytes = 4 * width;
    const adds = accumulate ? 1 : 0;
    return [
      this.#call("gainGradient", [input, inverseRms, outputGradient, gainGradient], [rows, bytes, bytes]),
      this.#call("normBackward", [input, gain, inverseRms, outputGradient, inputGradient], [
        ...[rows, bytes, adds, 1 / width],
      ]),
    ];
  }

  swiglu({ rows, width }: RowSizes, { gateUp, activated }: { gateUp: BufferRange; activated: BufferRange }) {
    return this.#call("swiglu", [gateUp, activated], [rows, 4 * width]);
  }

  swigluBackward(
    { rows, width }: RowSizes,
    tensors: { gateUp: BufferRange; activatedGradient: BufferRange; gateUpGradient: BufferRange },
  ): CpuDispatch {
    const { gateUp, activatedGradient, gateUpGradient } = tensors;
    return this.#call("swigluBackward", [gateUp, activatedGradient, gateUpGradient], [rows, 4 * width]);
  }

  boundaryActivation(
    { rows, width, type }: RowSizes & { type: "silu" | "relu" },
    { input, output }: { input: BufferRange; output: BufferRange },
  ): CpuDispatch {
    return this.#call(type, [input, output], [4 * rows * width]);
  }

  boundaryActivationBackward(
    { rows, width, type }: RowSizes & { type: "silu" | "relu" },
    { input, gradient }: { input: BufferRange; gradient: BufferRange },
  ): CpuDispatch {
    return this.#call(type === "relu" ? "reluBackward" : "siluBackward", [input, gradient], [4 * rows * width]);
  }

  prefix(
    sizes: { rows: number; columns: number; sourceWidth: number; targetWidth: number; pad: boolean },
    { source, target }: { source: BufferRange; target: BufferRange },
  ): CpuDispatch {
    const { rows, columns, sourceWidth, targetWidth, pad } = sizes;
    return this.#call("prefix", [source, target], [
      ...[rows, 4 * columns, 4 * sourceWidth, 4 * targetWidth, pad ? 1 : 0],
    ]);
  }

  embed(
    { rows, width, firstId, ids: count }: EmbedSizes,
    { tokens, embedding, output }: { tokens: BufferRange; embedding: BufferRange; output: BufferRange },
  ): CpuDispatch {
    const run = () => {
      const table = this.#memory.floats(embedding);
      const out = this.#memory.floats(output);
      const ids = this.#memory.words(tokens);
      for (let row = 0; row < rows; row++) {
        const id = ids[row]! - firstId;
        if (id >= 0 && id < count) out.set(table.subarray(id * width, (id + 1) * width), row * width);
      }
    };
    return { label: "embed", run };
  }

  embedBackward(
    { rows, width, firstId, ids: count }: EmbedSizes,
    tensors: { index: BufferRange; outputGradient: BufferRange; embeddingGradient: BufferRange },
  ): CpuDispatch {
    const { index, outputGradient, embeddingGradient } = tensors;
    const bytes = 4 * width;
    const run = () => {
      const words = this.#memory.words(index);
      const [ids, starts, positions] = [1, 1 + rows, 2 + 2 * rows];
      for (let i = 0; i < words[0]!; i++) {
        const id = words[ids + i]! - firstId;
        if (id < 0 || id >= count) continue;
        const to = embeddingGradient.offset + id * bytes;
        for (let at = words[starts + i]!; at < words[starts + i + 1]!; at++) {
          this.#kernels.add(outputGradient.offset + words[positions + at]! * bytes, to, bytes);
        }
      }
    };
    return { label: "embed backward", run };
  }

  crossEntropy(
    sizes: { rows: number; vocabulary: number; meanOver: number; writeGradient: boolean },
    { targets, logits, losses }: { targets: BufferRange; logits: BufferRange; losses: BufferRange },
  ): CpuDispatch {
    const { rows, vocabulary, meanOver, writeGradient } = sizes;
    return this.#call("crossEntropy", [targets, logits, losses], [
      ...[rows, 4 * vocabulary, writeGradient ? 1 : 0, 1 / meanOver],
    ]);
  }

  rotate(
    sizes: AttentionSizes & { direction: 1 | -1 },
    { table, qkv }: { table: BufferRange; qkv: BufferRange },
  ): CpuDispatch {
    const { sequences, length, heads, kvHeads, headWidth, direction } = sizes;
    return this.#call("rotate", [table, qkv], [
      ...[sequences * length, length, 4 * qkvWidth(sizes), 2 * headWidth, heads + kvHeads, direction],
    ]);
  }

  attention(sizes: AttentionSizes, tensors: AttentionTensors): CpuDispatch {
    const attention = this.#attentionOf(sizes);
    return { label: "attention", run: () => attention.forward(tensors) };
  }

  attentionBackward(sizes: AttentionSizes, tensors: AttentionGradientTensors): CpuDispatch[] {
    const attention = this.#attentionOf(sizes);
    return [
      { label: "attention dq", run: () => attention.backwardQueries(tensors) },
      { label: "attention dkv", run: () => attention.backwardKeys(tensors) },
    ];
  }

  #attentionOf(sizes: AttentionSizes): CpuAttention {
    this.#attention ??= new CpuAttention({ memory: this.#memory, kernels: this.#kernels, gemm: this.#gemm }, sizes);
    return this.#attention;
  }

  bfloat16Encode(count: number, { values, bytes }: { values: BufferRange; bytes: BufferRange }): CpuDispatch {
    const run = () => {
      const encoded = encodeBfloat16(this.#memory.floats(values).subarray(0, count));
      this.#memory.upload(bytes, encoded);
    };
    return { label: "bfloat16 encode", run };
  }

  bfloat16Decode(count: number, { values, bytes }: { values: BufferRange; bytes: BufferRange }): CpuDispatch {
    const run = () => {
      const encoded = this.#memory.bytes({ ...bytes, size: 2 * count });
      this.#memory.upload(values, decodeBfloat16(encoded));
    };
    return { label: "bfloat16 decode", run };
  }

  #call(name: keyof CpuKernels, ranges: readonly BufferRange[], numbers: readonly number[]): CpuDispatch {
    return kernelDispatch(this.#kernels, { name, ranges, numbers });
  }
}
