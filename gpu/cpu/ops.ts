/** The operations of stage_ops.ts as jobs on fixed addresses, shared by the team's threads. */

import { assert } from "../../core/assert.ts";
import type { AttentionSizes } from "../attention_sizes.ts";
import { qkvWidth } from "../attention_sizes.ts";
import type {
  AttentionGradientTensors,
  AttentionTensors,
  BufferRange,
  CacheSizes,
  CacheTensors,
  CodesEncodeOperands,
  CodesOperands,
  EmbedSizes,
  LinearSizes,
  NormGradientTensors,
  RowSizes,
  StageOps,
} from "../stage_ops.ts";
import { attentionFloats } from "./jobs/attention.ts";
import { type CpuDispatch, jobDispatch } from "./cpu_dispatch.ts";
import type { Operand, Product } from "./layout/gemm.ts";
import { type AttentionCall, attentionJob } from "./jobs/attention_jobs.ts";
import { attendCacheJob, attendFloats, cacheTokensJob } from "./jobs/cache_jobs.ts";
import { bfloat16Job, codesJob } from "./jobs/codes_jobs.ts";
import { type KernelCall, kernelJob } from "./jobs/kernel_job.ts";
import { productJob } from "./jobs/product_jobs.ts";
import { embedBackwardJob, embedJob } from "./jobs/token_jobs.ts";
import type { CpuMemory } from "./layout/memory.ts";
import type { Team } from "./threads/team.ts";

const lines = ({ offset }: BufferRange, width: number): Operand => ({
  address: offset,
  rowBytes: 4 * width,
  layout: "lines",
});
const rowsOf = (range: BufferRange, width: number): Operand => ({ ...lines(range, width), layout: "rows" });

const plainNs = 0.03; // per byte read or written
const exponentialNs = 0.7; // per byte of values under e^x
const bytesOfUnit = 4096; // of a vector
const line = 64; // bytes that threads should not share

export class CpuOps implements StageOps {
  readonly #memory: CpuMemory;
  readonly #team: Team;

  constructor(memory: CpuMemory, team: Team) {
    this.#memory = memory;
    this.#team = team;
  }

  linear(
    { rows, inWidth, outWidth, outStride = outWidth }: LinearSizes,
    tensors: { input: BufferRange; weight: BufferRange; output: BufferRange; residual?: BufferRange | undefined },
  ): CpuDispatch {
    const { input, weight, output, residual } = tensors;
    return this.#product(residual === undefined ? "linear" : "linear and residual", {
      ...{ a: lines(input, inWidth), b: lines(weight, inWidth) },
      ...{ c: { address: output.offset, rowBytes: 4 * outStride }, residual: residual?.offset ?? 0 },
      ...{ rows, columns: outWidth, depth: inWidth, adds: residual !== undefined },
    });
  }

  linearInputGradient(
    { rows, inWidth, outWidth, outStride = outWidth, accumulate = false }: LinearSizes & { accumulate?: boolean },
    { outputGradient, weight, inputGradient }: Record<"outputGradient" | "weight" | "inputGradient", BufferRange>,
  ): CpuDispatch {
    return this.#product("linear input gradient", {
      ...{ a: lines(outputGradient, outStride), b: rowsOf(weight, inWidth) },
      ...{ c: { address: inputGradient.offset, rowBytes: 4 * inWidth }, residual: 0 },
      ...{ rows, columns: inWidth, depth: outWidth, adds: accumulate },
    });
  }

  linearWeightGradient(
    { rows, inWidth, outWidth, outStride = outWidth }: LinearSizes,
    { outputGradient, input, weightGradient }: Record<"outputGradient" | "input" | "weightGradient", BufferRange>,
  ): CpuDispatch {
    return this.#product("linear weight gradient", {
      ...{ a: rowsOf(outputGradient, outStride), b: rowsOf(input, inWidth) },
      ...{ c: { address: weightGradient.offset, rowBytes: 4 * inWidth }, residual: 0 },
      ...{ rows: outWidth, columns: inWidth, depth: rows, adds: true },
    });
  }

  #product(label: string, product: Product & { readonly residual: number }): CpuDispatch {
    const { columns, depth, a, b } = product;
    const isWhole = columns % 4 === 0 && (depth % 4 === 0 || (a.layout === "rows" && b.layout === "rows"));
    assert(isWhole, `Cannot multiply: columns ${columns} and depth ${depth} must be multiples of 4`);
    return jobDispatch(this.#team, label, productJob(product));
  }

  rmsNorm(
    { rows, width, epsilon }: RowSizes & { epsilon: number },
    tensors: { input: BufferRange; gain: BufferRange; output: BufferRange; inverseRms: BufferRange },
  ): CpuDispatch {
    const { input, gain, output, inverseRms } = tensors;
    const bytes = 4 * width;
    return this.#rows("norm", {
      moving: [[input.offset, bytes], [gain.offset, 0], [output.offset, bytes], [inverseRms.offset, 4]],
      ...{ rows, rest: [bytes, 1 / width, epsilon], unitNs: 3 * bytes * plainNs },
    });
  }

  rmsNormBackward(
    { rows, width, accumulate }: RowSizes & { accumulate: boolean },
    { input, gain, inverseRms, outputGradient, inputGradient, gainGradient }: NormGradientTensors,
  ): CpuDispatch[] {
    const bytes = 4 * width;
    const columns = kernelJob({
      name: "gainGradient",
      moving: [[input.offset, line], [inverseRms.offset, 0], [outputGradient.offset, line], [
        gainGradient.offset,
        line,
      ]],
      ...{ count: { total: bytes, ofUnit: line }, rest: [rows, bytes], unitNs: 2 * line * rows * plainNs },
    });
    const moving = [[input.offset, bytes], [gain.offset, 0], [inverseRms.offset, 4]] as const;
    return [
      jobDispatch(this.#team, "gainGradient", columns),
      this.#rows("normBackward", {
        moving: [...moving, [outputGradient.offset, bytes], [inputGradient.offset, bytes]],
        ...{ rows, rest: [bytes, accumulate ? 1 : 0, 1 / width], unitNs: 5 * bytes * plainNs },
      }),
    ];
  }

  swiglu({ rows, width }: RowSizes, { gateUp, activated }: { gateUp: BufferRange; activated: BufferRange }) {
    const bytes = 4 * width;
    const moving = [[gateUp.offset, 2 * bytes], [activated.offset, bytes]] as const;
    return this.#rows("swiglu", { moving, rows, rest: [bytes], unitNs: bytes * exponentialNs });
  }

  swigluBackward(
    { rows, width }: RowSizes,
    tensors: { gateUp: BufferRange; activatedGradient: BufferRange; gateUpGradient: BufferRange },
  ): CpuDispatch {
    const { gateUp, activatedGradient, gateUpGradient } = tensors;
    const bytes = 4 * width;
    return this.#rows("swigluBackward", {
      moving: [[gateUp.offset, 2 * bytes], [activatedGradient.offset, bytes], [gateUpGradient.offset, 2 * bytes]],
      ...{ rows, rest: [bytes], unitNs: bytes * exponentialNs },
    });
  }

  boundaryActivation(
    { rows, width, type }: RowSizes & { type: "silu" | "relu" },
    { input, output }: { input: BufferRange; output: BufferRange },
  ): CpuDispatch {
    return this.#bytes(type, [input, output], 4 * rows * width);
  }

  boundaryActivationBackward(
    { rows, width, type }: RowSizes & { type: "silu" | "relu" },
    { input, gradient }: { input: BufferRange; gradient: BufferRange },
  ): CpuDispatch {
    return this.#bytes(type === "relu" ? "reluBackward" : "siluBackward", [input, gradient], 4 * rows * width);
  }

  prefix(
    sizes: { rows: number; columns: number; sourceWidth: number; targetWidth: number; pad: boolean },
    { source, target }: { source: BufferRange; target: BufferRange },
  ): CpuDispatch {
    const { rows, columns, sourceWidth, targetWidth, pad } = sizes;
    return this.#rows("prefix", {
      moving: [[source.offset, 4 * sourceWidth], [target.offset, 4 * targetWidth]],
      ...{ rows, rest: [4 * columns, 4 * sourceWidth, 4 * targetWidth, pad ? 1 : 0] },
      unitNs: 8 * targetWidth * plainNs,
    });
  }

  embed(
    sizes: EmbedSizes,
    { tokens, embedding, output }: { tokens: BufferRange; embedding: BufferRange; output: BufferRange },
  ): CpuDispatch {
    const job = embedJob({ sizes, addresses: [tokens.offset, embedding.offset, output.offset] });
    return jobDispatch(this.#team, "embed", job);
  }

  embedBackward(
    sizes: EmbedSizes,
    tensors: { index: BufferRange; outputGradient: BufferRange; embeddingGradient: BufferRange },
  ): CpuDispatch {
    const { index, outputGradient, embeddingGradient } = tensors;
    const addresses = [index.offset, outputGradient.offset, embeddingGradient.offset] as const;
    return jobDispatch(this.#team, "embed backward", embedBackwardJob({ sizes, addresses }));
  }

  crossEntropy(
    sizes: { rows: number; vocabulary: number; meanOver: number; writeGradient: boolean },
    { targets, logits, losses }: { targets: BufferRange; logits: BufferRange; losses: BufferRange },
  ): CpuDispatch {
    const { rows, vocabulary, meanOver, writeGradient } = sizes;
    const bytes = 4 * vocabulary;
    return this.#rows("crossEntropy", {
      moving: [[targets.offset, 4], [logits.offset, bytes], [losses.offset, 4]],
      ...{ rows, rest: [bytes, writeGradient ? 1 : 0, 1 / meanOver], unitNs: 2 * bytes * exponentialNs },
    });
  }

  rotate(
    sizes: AttentionSizes & { direction: 1 | -1 },
    { table, qkv }: { table: BufferRange; qkv: BufferRange },
  ): CpuDispatch {
    const { sequences, length, heads, kvHeads, headWidth, direction } = sizes;
    const rowBytes = 4 * qkvWidth(sizes);
    return this.#rows("rotate", {
      moving: [[table.offset, 0], [qkv.offset, rowBytes], [0, 1]],
      rows: sequences * length,
      rest: [length, rowBytes, 2 * headWidth, heads + kvHeads, direction],
      unitNs: 2 * rowBytes * plainNs,
    });
  }

  attention(sizes: AttentionSizes, { qkv, output, logSumExp }: AttentionTensors): CpuDispatch {
    const own = { qkv: qkv.offset, output: output.offset, logSumExp: logSumExp.offset };
    const addresses = { ...own, outputGradient: 0, delta: 0, qkvGradient: 0 };
    return this.#attention("attention", { operation: "attention", sizes, addresses });
  }

  attentionBackward(sizes: AttentionSizes, tensors: AttentionGradientTensors): CpuDispatch[] {
    const { qkv, output, logSumExp, outputGradient, delta, qkvGradient } = tensors;
    const addresses = {
      ...{ qkv: qkv.offset, output: output.offset, logSumExp: logSumExp.offset },
      ...{ outputGradient: outputGradient.offset, delta: delta.offset, qkvGradient: qkvGradient.offset },
    };
    return [
      this.#attention("attention dq", { operation: "attentionQueries", sizes, addresses }),
      this.#attention("attention dkv", { operation: "attentionKeys", sizes, addresses }),
    ];
  }

  #attention(label: string, call: Omit<AttentionCall, "scratch">): CpuDispatch {
    const floats = this.#team.threads * attentionFloats(call.sizes); // a stage has one shape of attention
    const scratch = this.#memory.scratch("attention", floats).offset;
    return jobDispatch(this.#team, label, attentionJob({ ...call, scratch }));
  }

  cacheTokens(sizes: CacheSizes, tensors: CacheTensors & { readonly table: BufferRange }): CpuDispatch {
    const { table, places, qkv, keys, values } = tensors;
    const addresses = {
      ...{ table: table.offset, places: places.offset, qkv: qkv.offset },
      ...{ keys: keys.offset, values: values.offset },
    };
    return jobDispatch(this.#team, "cache tokens", cacheTokensJob({ sizes, addresses }));
  }

  attendCache(sizes: CacheSizes, tensors: CacheTensors & { readonly output: BufferRange }): CpuDispatch {
    const { places, qkv, keys, values, output } = tensors;
    const addresses = {
      ...{ places: places.offset, qkv: qkv.offset, output: output.offset },
      ...{ keys: keys.offset, values: values.offset },
    };
    const scratch = this.#memory.scratch("attention", this.#team.threads * attendFloats(sizes)).offset;
    return jobDispatch(this.#team, "attend cache", attendCacheJob({ sizes, addresses, scratch }));
  }

  bfloat16Encode(count: number, { values, bytes }: { values: BufferRange; bytes: BufferRange }): CpuDispatch {
    const job = bfloat16Job("bfloat16Encode", { values: values.offset, bytes: bytes.offset, count });
    return jobDispatch(this.#team, "bfloat16 encode", job);
  }

  bfloat16Decode(count: number, { values, bytes }: { values: BufferRange; bytes: BufferRange }): CpuDispatch {
    const job = bfloat16Job("bfloat16Decode", { values: values.offset, bytes: bytes.offset, count });
    return jobDispatch(this.#team, "bfloat16 decode", job);
  }

  codesEncode({ values, bytes, key, ...call }: CodesEncodeOperands): CpuDispatch[] {
    const addresses = { values: values.offset, bytes: bytes.offset, key: key.offset };
    const job = codesJob("codesEncode", { ...call, ...addresses });
    return [jobDispatch(this.#team, "codes encode", job)];
  }

  codesDecode({ values, bytes, ...call }: CodesOperands): CpuDispatch[] {
    const job = codesJob("codesDecode", { ...call, values: values.offset, bytes: bytes.offset });
    return [jobDispatch(this.#team, "codes decode", job)];
  }

  #rows(name: KernelCall["name"], { rows, ...call }: Omit<KernelCall, "name" | "count"> & { rows: number }) {
    return jobDispatch(this.#team, name, kernelJob({ name, count: { total: rows, ofUnit: 1 }, ...call }));
  }

  #bytes(name: KernelCall["name"], ranges: readonly BufferRange[], bytes: number): CpuDispatch {
    const job = kernelJob({
      name,
      moving: ranges.map(({ offset }) => [offset, bytesOfUnit]),
      count: { total: bytes, ofUnit: bytesOfUnit },
      unitNs: bytesOfUnit * exponentialNs,
    });
    return jobDispatch(this.#team, name, job);
  }
}
