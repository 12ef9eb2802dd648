/** The operations of stage_ops.ts as dispatches of a GPU. */

import { attention, attentionBackward, type AttentionSettings, rotate } from "./attention_ops.ts";
import type { AttentionSizes } from "../attention_sizes.ts";
import { attendCache, cacheTokens } from "./cache_ops.ts";
import { gemm, type GemmOptions } from "./gemm_ops.ts";
import { choiceWithin, type GemmChoice, type GemmKind, hardwareGemm, softwareGemm } from "./generate/gemm_settings.ts";
import { bfloat16Decode, bfloat16Encode } from "./bfloat16_ops.ts";
import { codesDecode, codesEncode } from "./codes_ops.ts";
import type { GpuDevice } from "./device.ts";
import { floatBits, type Kernels, type KernelSource } from "./kernel.ts";
import {
  type AttentionGradientTensors,
  type AttentionTensors,
  type BufferRange,
  type CacheSizes,
  type CacheTensors,
  type CodesEncodeOperands,
  type CodesOperands,
  type Dispatch,
  type EmbedSizes,
  gainChunkRows,
  type LinearSizes,
  type NormGradientTensors,
  type RowSizes,
  type StageOps,
} from "../stage_ops.ts";
import boundaryActivation from "./wgsl/boundary_activation.wgsl" with { type: "text" };
import boundaryActivationBackward from "./wgsl/boundary_activation_backward.wgsl" with { type: "text" };
import crossEntropy from "./wgsl/cross_entropy.wgsl" with { type: "text" };
import embed from "./wgsl/embed.wgsl" with { type: "text" };
import embedBackward from "./wgsl/embed_backward.wgsl" with { type: "text" };
import gainPartial from "./wgsl/gain_partial.wgsl" with { type: "text" };
import gainReduce from "./wgsl/gain_reduce.wgsl" with { type: "text" };
import prefix from "./wgsl/prefix.wgsl" with { type: "text" };
import rmsNorm from "./wgsl/rms_norm.wgsl" with { type: "text" };
import rmsNormBackward from "./wgsl/rms_norm_backward.wgsl" with { type: "text" };
import rowPerLane from "./wgsl/row_per_lane.wgsl" with { type: "text" };
import rowPerWorkgroup from "./wgsl/row_per_workgroup.wgsl" with { type: "text" };
import swiglu from "./wgsl/swiglu.wgsl" with { type: "text" };
import swigluBackward from "./wgsl/swiglu_backward.wgsl" with { type: "text" };

/** Results are deterministic for one setting; only the GEMM's are the same for all. */
export interface KernelSettings {
  readonly gemm: GemmChoice;
  readonly attention: AttentionSettings;
  readonly rows: "perLane" | "perWorkgroup";
}

export const softwareKernels: KernelSettings = {
  gemm: softwareGemm,
  attention: { family: "direct", lanes: 8 },
  rows: "perLane",
};
export const hardwareKernels: KernelSettings = {
  gemm: hardwareGemm,
  attention: { family: "tiled", together: 4 },
  rows: "perWorkgroup",
};

/** Unless the device was tuned. */
export function kernelsFor({ adapter, device }: Pick<GpuDevice, "adapter" | "device">): KernelSettings {
  const settings = adapter.isSoftware ? softwareKernels : hardwareKernels;
  return { ...settings, gemm: choiceWithin(settings.gemm, device.limits) };
}

const mapLanes = 32; // workgroup size of the element-wise kernels
const rowsPerLaneGroup = 8; // ROW_GROUP of row_per_lane.wgsl

export class Ops implements StageOps {
  readonly kernels: Kernels;
  readonly settings: KernelSettings;

  constructor(kernels: Kernels, settings: KernelSettings) {
    this.kernels = kernels;
    this.settings = settings;
  }

  linear(
    sizes: LinearSizes,
    tensors: { input: BufferRange; weight: BufferRange; output: BufferRange; residual?: BufferRange | undefined },
  ): Dispatch {
    const { input, weight, output, residual } = tensors;
    return this.#gemm("forward", {
      rows: sizes.rows,
      columns: sizes.outWidth,
      depth: sizes.inWidth,
      cStride: sizes.outStride,
      // Every binding must hold a buffer; it is discarded.
      bindings: [input, weight, output, residual ?? input],
      adds: residual !== undefined,
    });
  }

  linearInputGradient(
    sizes: LinearSizes & { accumulate?: boolean },
    tensors: { outputGradient: BufferRange; weight: BufferRange; inputGradient: BufferRange },
  ): Dispatch {
    return this.#gemm("inputGradient", {
      rows: sizes.rows,
      columns: sizes.inWidth,
      depth: sizes.outWidth,
      aStride: sizes.outStride,
      bindings: [tensors.outputGradient, tensors.weight, tensors.inputGradient],
      adds: sizes.accumulate ?? false,
    });
  }

  linearWeightGradient(
    sizes: LinearSizes,
    tensors: { outputGradient: BufferRange; input: BufferRange; weightGradient: BufferRange },
  ): Dispatch {
    return this.#gemm("weightGradient", {
      rows: sizes.outWidth,
      columns: sizes.inWidth,
      depth: sizes.rows,
      aStride: sizes.outStride,
      bindings: [tensors.outputGradient, tensors.input, tensors.weightGradient],
      adds: true,
    });
  }

  #gemm(kind: GemmKind, options: GemmOptions): Dispatch {
    return gemm({ kernels: this.kernels, choice: this.settings.gemm }, kind, options);
  }

  rmsNorm(
    sizes: RowSizes & { epsilon: number },
    tensors: { input: BufferRange; gain: BufferRange; output: BufferRange; inverseRms: BufferRange },
  ): Dispatch {
    const { rows, width, epsilon } = sizes;
    return this.kernels.dispatch({
      kernel: this.#rowKernel("rms_norm", rmsNorm),
      bindings: [tensors.input, tensors.gain, tensors.output, tensors.inverseRms],
      constants: [rows, width / 4, floatBits(1 / width), floatBits(epsilon)],
      workgroups: [this.#rowGroups(rows)],
    });
  }

  rmsNormBackward(sizes: RowSizes & { accumulate: boolean }, tensors: NormGradientTensors): Dispatch[] {
    const { rows, width, accumulate } = sizes;
    const { input, gain, inverseRms, outputGradient, inputGradient, gainGradient, partial } = tensors;
    const chunks = Math.ceil(rows / gainChunkRows);
    const columnGroups = Math.ceil(width / 4 / mapLanes);
    return [
      this.kernels.dispatch({
        kernel: { label: "gain_partial", source: gainPartial },
        bindings: [input, inverseRms, outputGradient, partial],
        constants: [rows, width / 4, gainChunkRows],
        workgroups: [columnGroups, chunks],
      }),
      this.kernels.dispatch({
        kernel: { label: "gain_reduce", source: gainReduce },
        bindings: [partial, gainGradient],
        constants: [chunks, width / 4],
        workgroups: [columnGroups],
      }),
      this.kernels.dispatch({
        kernel: this.#rowKernel("rms_norm_backward", rmsNormBackward),
        bindings: [input, gain, inverseRms, outputGradient, inputGradient],
        constants: [rows, width / 4, floatBits(1 / width), accumulate ? 1 : 0],
        workgroups: [this.#rowGroups(rows)],
      }),
    ];
  }

  swiglu(sizes: RowSizes, tensors: { gateUp: BufferRange; activated: BufferRange }): Dispatch {
    return this.#map({ label: "swiglu", source: swiglu }, sizes, {
      bindings: [tensors.gateUp, tensors.activated],
      constants: [sizes.width / 4],
    });
  }

  swigluBackward(
    sizes: RowSizes,
    tensors: { gateUp: BufferRange; activatedGradient: BufferRange; gateUpGradient: BufferRange },
  ): Dispatch {
    return this.#map({ label: "swiglu_backward", source: swigluBackward }, sizes, {
      bindings: [tensors.gateUp, tensors.activatedGradient, tensors.gateUpGradient],
      constants: [sizes.width / 4],
    });
  }

  boundaryActivation(
    sizes: RowSizes & { type: "silu" | "relu" },
    tensors: { input: BufferRange; output: BufferRange },
  ): Dispatch {
    return this.#map({ label: "boundary_activation", source: boundaryActivation }, sizes, {
      bindings: [tensors.input, tensors.output],
      constants: [sizes.width / 4, sizes.type === "relu" ? 1 : 0],
    });
  }

  boundaryActivationBackward(
    sizes: RowSizes & { type: "silu" | "relu" },
    tensors: { input: BufferRange; gradient: BufferRange },
  ): Dispatch {
    return this.#map({ label: "boundary_activation_backward", source: boundaryActivationBackward }, sizes, {
      bindings: [tensors.input, tensors.gradient],
      constants: [sizes.width / 4, sizes.type === "relu" ? 1 : 0],
    });
  }

  prefix(
    sizes: { rows: number; columns: number; sourceWidth: number; targetWidth: number; pad: boolean },
    tensors: { source: BufferRange; target: BufferRange },
  ): Dispatch {
    const { rows, columns, sourceWidth, targetWidth, pad } = sizes;
    return this.#map({ label: "prefix", source: prefix }, { rows, width: pad ? targetWidth : columns }, {
      bindings: [tensors.source, tensors.target],
      constants: [columns / 4, sourceWidth / 4, targetWidth / 4, pad ? 1 : 0],
    });
  }

  embed(
    sizes: EmbedSizes,
    tensors: { tokens: BufferRange; embedding: BufferRange; output: BufferRange },
  ): Dispatch {
    return this.#map({ label: "embed", source: embed }, sizes, {
      bindings: [tensors.tokens, tensors.embedding, tensors.output],
      constants: [sizes.width / 4, sizes.firstId, sizes.ids],
    });
  }

  embedBackward(
    sizes: EmbedSizes,
    tensors: { index: BufferRange; outputGradient: BufferRange; embeddingGradient: BufferRange },
  ): Dispatch {
    return this.#map({ label: "embed_backward", source: embedBackward }, sizes, {
      bindings: [tensors.index, tensors.outputGradient, tensors.embeddingGradient],
      constants: [sizes.width / 4, sizes.rows, sizes.firstId, sizes.ids],
    });
  }

  crossEntropy(
    sizes: { rows: number; vocabulary: number; meanOver: number; writeGradient: boolean },
    tensors: { targets: BufferRange; logits: BufferRange; losses: BufferRange },
  ): Dispatch {
    const { rows, vocabulary, meanOver, writeGradient } = sizes;
    return this.kernels.dispatch({
      kernel: this.#rowKernel("cross_entropy", crossEntropy),
      bindings: [tensors.targets, tensors.logits, tensors.losses],
      constants: [rows, vocabulary / 4, floatBits(1 / meanOver), writeGradient ? 1 : 0],
      workgroups: [this.#rowGroups(rows)],
    });
  }

  rotate(
    sizes: AttentionSizes & { direction: 1 | -1 },
    tensors: { table: BufferRange; qkv: BufferRange },
  ): Dispatch {
    return rotate(this.kernels, sizes, tensors);
  }

  attention(sizes: AttentionSizes, tensors: AttentionTensors): Dispatch {
    return attention({ kernels: this.kernels, settings: this.settings.attention }, sizes, tensors);
  }

  attentionBackward(sizes: AttentionSizes, tensors: AttentionGradientTensors): Dispatch[] {
    return attentionBackward({ kernels: this.kernels, settings: this.settings.attention }, sizes, tensors);
  }

  cacheTokens(sizes: CacheSizes, tensors: CacheTensors & { readonly table: BufferRange }): Dispatch {
    return cacheTokens(this.kernels, sizes, tensors);
  }

  attendCache(sizes: CacheSizes, tensors: CacheTensors & { readonly output: BufferRange }): Dispatch {
    return attendCache(this.kernels, sizes, tensors);
  }

  bfloat16Encode(count: number, tensors: { values: BufferRange; bytes: BufferRange }): Dispatch {
    return bfloat16Encode(this.kernels, { count, ...tensors });
  }

  bfloat16Decode(count: number, tensors: { values: BufferRange; bytes: BufferRange }): Dispatch {
    return bfloat16Decode(this.kernels, { count, ...tensors });
  }

  codesEncode(operands: CodesEncodeOperands): Dispatch[] {
    return codesEncode(this.kernels, operands);
  }

  codesDecode(operands: CodesOperands): Dispatch[] {
    return codesDecode(this.kernels, operands);
  }

  /** Lanes across a row's vectors, one row of workgroups per token. */
  #map(
    kernel: KernelSource,
    sizes: RowSizes,
    options: { bindings: BufferRange[]; constants: number[] },
  ): Dispatch {
    return this.kernels.dispatch({
      kernel,
      ...options,
      workgroups: [Math.ceil(sizes.width / 4 / mapLanes), sizes.rows],
    });
  }

  #rowKernel(label: string, source: string): KernelSource {
    return { label, source: (this.settings.rows === "perLane" ? rowPerLane : rowPerWorkgroup) + source };
  }

  #rowGroups(rows: number): number {
    return this.settings.rows === "perLane" ? Math.ceil(rows / rowsPerLaneGroup) : rows;
  }
}
