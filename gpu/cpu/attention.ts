/**
 * Causal attention with grouped queries on the processor, forward and backward: strips of four rows, whose products are the
 * matrix product's and whose softmax is kernels/attention_kernels.ts. No T x T matrix is kept: the backward computes the
 * probabilities again from ln(sum(e^score)) (FlashAttention, arXiv 2205.14135).
 *
 * Sums run over ascending positions, and over the heads of a group in order. Scratch holds the packed matrices of one head.
 */

import type { AttentionSizes } from "../attention_sizes.ts";
import { qkvWidth } from "../attention_sizes.ts";
import type { AttentionGradientTensors, AttentionTensors, BufferRange } from "../stage_ops.ts";
import type { Gemm, Operand } from "./gemm.ts";
import type { CpuKernels } from "./kernels/cpu_kernels.ts";
import { tileColumns, tileRows } from "./kernels/gemm_kernels.ts";
import type { CpuMemory } from "./memory.ts";

interface Parts {
  readonly memory: CpuMemory;
  readonly kernels: CpuKernels;
  readonly gemm: Gemm;
}

/** The strips and packed matrices of one head. */
interface Scratch {
  readonly scores: number; // (4, columns)
  readonly products: number; // (4, columns)
  readonly panel: number; // a packed strip
  readonly packed: readonly number[]; // four matrices of a head
}

export class CpuAttention {
  readonly #parts: Parts;
  readonly #sizes: AttentionSizes;
  readonly #scratch: Scratch;
  readonly #columns: number; // T, up to whole panels
  readonly #rowBytes: number; // of a strip
  readonly #qkvBytes: number; // of a row of q, k and v
  readonly #outBytes: number; // of a row of the output
  readonly #scale: number;

  constructor(parts: Parts, sizes: AttentionSizes) {
    this.#parts = parts;
    this.#sizes = sizes;
    const { length, heads, headWidth } = sizes;
    this.#columns = Math.ceil(length / tileColumns) * tileColumns;
    this.#rowBytes = 4 * this.#columns;
    this.#qkvBytes = 4 * qkvWidth(sizes);
    this.#outBytes = 4 * heads * headWidth;
    this.#scale = 1 / Math.sqrt(headWidth);
    const { memory } = parts;
    const room = (label: string, count: number) => memory.scratch(`attention ${label}`, count).offset;
    const whole = (this.#columns + 2) * Math.ceil(headWidth / tileColumns) * tileColumns;
    this.#scratch = {
      scores: room("scores", tileRows * this.#columns),
      products: room("products", tileRows * this.#columns),
      panel: room("panel", tileRows * Math.max(this.#columns, headWidth) + 2 * tileRows),
      packed: [0, 1, 2, 3].map((index) => room(`matrix ${index}`, whole)),
    };
  }

  forward({ qkv, output, logSumExp }: AttentionTensors): void {
    const { length, headWidth } = this.#sizes;
    const { scores } = this.#scratch;
    const [keys, values] = this.#scratch.packed as [number, number];
    for (const { b, head, group, isFirstOfGroup } of this.#heads()) {
      const { q, k, v } = this.#operands(qkv, { b, head, group });
      if (isFirstOfGroup) {
        this.#packColumns(k, keys);
        this.#packRows(v, values);
      }
      const sums = logSumExp.offset + 4 * (b * this.#sizes.heads + head) * length;
      for (let first = 0; first < length; first += tileRows) {
        const { rows, columns } = this.#strip(first);
        this.#scores(q, { first, rows, columns, matrix: keys, to: scores });
        this.#parts.kernels.softmax(scores, sums + 4 * first, rows, 4 * columns, this.#rowBytes, first, this.#scale);
        this.#mix(scores, {
          ...{ rows, from: 0, columns, matrix: values, adds: false, rowBytes: this.#outBytes },
          to: output.offset + (b * length + first) * this.#outBytes + 4 * head * headWidth,
        });
      }
    }
  }

  /** dq, and delta = sum(dOut out) of each row, which the keys' gradient needs. */
  backwardQueries({ qkv, output, logSumExp, outputGradient, delta, qkvGradient }: AttentionGradientTensors): void {
    const { length, heads, headWidth } = this.#sizes;
    const { scores, products } = this.#scratch;
    const [keys, values, keyRows] = this.#scratch.packed as [number, number, number];
    const { kernels } = this.#parts;
    for (const { b, head, group, isFirstOfGroup } of this.#heads()) {
      const { q, k, v } = this.#operands(qkv, { b, head, group });
      const gradient = this.#headOf(outputGradient, { b, head });
      if (isFirstOfGroup) {
        this.#packColumns(k, keys);
        this.#packColumns(v, values);
        this.#packRows(k, keyRows);
      }
      const at = 4 * (b * heads + head) * length;
      const own = this.#headOf(output, { b, head }).address;
      kernels.rowDot(gradient.address, own, delta.offset + at, length, 4 * headWidth, this.#outBytes);
      for (let first = 0; first < length; first += tileRows) {
        const { rows, columns } = this.#strip(first);
        this.#scores(q, { first, rows, columns, matrix: keys, to: scores });
        this.#scores(gradient, { first, rows, columns, matrix: values, to: products });
        kernels.queryGradient(
          ...[scores, products, logSumExp.offset + at + 4 * first, delta.offset + at + 4 * first, rows],
          ...[4 * columns, this.#rowBytes, first, this.#scale],
        );
        this.#mix(scores, {
          ...{ rows, from: 0, columns, matrix: keyRows, adds: false, rowBytes: this.#qkvBytes },
          to: qkvGradient.offset + (b * length + first) * this.#qkvBytes + 4 * head * headWidth,
        });
      }
    }
  }

  /** dk and dv. */
  backwardKeys({ qkv, logSumExp, outputGradient, delta, qkvGradient }: AttentionGradientTensors): void {
    const { length, heads, kvHeads, headWidth } = this.#sizes;
    const { scores, products } = this.#scratch;
    const [queries, gradients, queryRows, gradientRows] = this.#scratch.packed as [number, number, number, number];
    for (const { b, head, group, isFirstOfGroup } of this.#heads()) {
      const { q, k, v } = this.#operands(qkv, { b, head, group });
      const gradient = this.#headOf(outputGradient, { b, head });
      this.#packColumns(q, queries);
      this.#packColumns(gradient, gradients);
      this.#packRows(q, queryRows);
      this.#packRows(gradient, gradientRows);
      const at = 4 * (b * heads + head) * length;
      for (let first = 0; first < length; first += tileRows) {
        const rows = Math.min(tileRows, length - first);
        const from = Math.floor(first / tileColumns) * tileColumns; // earlier queries see none of these keys
        this.#scores(k, { first, rows, from, columns: this.#columns, matrix: queries, to: scores });
        this.#scores(v, { first, rows, from, columns: this.#columns, matrix: gradients, to: products });
        this.#parts.kernels.keyGradient(
          ...[scores, products, logSumExp.offset + at, delta.offset + at, rows, 4 * from, 4 * this.#columns],
          ...[this.#rowBytes, first, length, this.#scale],
        );
        const row = qkvGradient.offset + (b * length + first) * this.#qkvBytes;
        const strip = { rows, from, columns: length, adds: !isFirstOfGroup, rowBytes: this.#qkvBytes };
        this.#mix(scores, { ...strip, matrix: queryRows, to: row + 4 * (heads + group) * headWidth });
        this.#mix(products, { ...strip, matrix: gradientRows, to: row + 4 * (heads + kvHeads + group) * headWidth });
      }
    }
  }

  *#heads(): Generator<{ b: number; head: number; group: number; isFirstOfGroup: boolean }> {
    const { sequences, heads, kvHeads } = this.#sizes;
    const ofGroup = heads / kvHeads;
    for (let b = 0; b < sequences; b++) {
      for (let head = 0; head < heads; head++) {
        yield { b, head, group: Math.floor(head / ofGroup), isFirstOfGroup: head % ofGroup === 0 };
      }
    }
  }

  /** q, k and v of one head, each (T, headWidth). */
  #operands(qkv: BufferRange, { b, head, group }: { b: number; head: number; group: number }) {
    const { length, heads, kvHeads, headWidth } = this.#sizes;
    const start = qkv.offset + b * length * this.#qkvBytes;
    const of = (index: number): Operand => ({
      address: start + 4 * index * headWidth,
      rowBytes: this.#qkvBytes,
      layout: "lines",
    });
    return { q: of(head), k: of(heads + group), v: of(heads + kvHeads + group) };
  }

  #headOf(range: BufferRange, { b, head }: { b: number; head: number }): Operand {
    const { length, headWidth } = this.#sizes;
    const address = range.offset + b * length * this.#outBytes + 4 * head * headWidth;
    return { address, rowBytes: this.#outBytes, layout: "lines" };
  }

  /** Rows of a strip, and how many columns causality lets them see, up to whole panels. */
  #strip(first: number): { rows: number; columns: number } {
    const rows = Math.min(tileRows, this.#sizes.length - first);
    return { rows, columns: Math.ceil((first + rows) / tileColumns) * tileColumns };
  }

  /** A (T, headWidth) matrix whose rows become the product's columns. */
  #packColumns(matrix: Operand, to: number): void {
    const { length, headWidth } = this.#sizes;
    this.#parts.gemm.pack(matrix, { to, first: 0, count: length, k: 0, depth: headWidth, width: tileColumns });
  }

  /** A (T, headWidth) matrix whose rows are summed over. */
  #packRows(matrix: Operand, to: number): void {
    const { length, headWidth } = this.#sizes;
    const rows = { ...matrix, layout: "rows" } as const;
    this.#parts.gemm.pack(rows, { to, first: 0, count: headWidth, k: 0, depth: length, width: tileColumns });
  }

  /** (rows, columns) = own rows times a packed matrix's columns. */
  #scores(own: Operand, strip: Strip & { first: number; from?: number }): void {
    const { first, rows, from = 0, columns, matrix, to } = strip;
    const { gemm } = this.#parts;
    const { headWidth } = this.#sizes;
    const { panel } = this.#scratch;
    gemm.pack(own, { to: panel, first, count: rows, k: 0, depth: headWidth, width: tileRows });
    gemm.multiplyPacked({
      ...{ a: panel, b: matrix + 4 * from * headWidth, c: to + 4 * from, rows: tileRows, columns: columns - from },
      ...{ depth: headWidth, rowBytes: this.#rowBytes, adds: false },
    });
  }

  /** (rows, headWidth) = or += the strip's columns [from, columns) times the rows of a packed matrix. */
  #mix(strip: number, options: Strip & { from: number; adds: boolean; rowBytes: number }): void {
    const { rows, from, columns, matrix, to, adds, rowBytes } = options;
    const { gemm } = this.#parts;
    const { headWidth, length } = this.#sizes;
    const { panel } = this.#scratch;
    const end = Math.min(columns, length);
    const depth = end - from + (end - from) % 2;
    const panelBytes = 4 * tileColumns * (length + length % 2);
    const lines: Operand = { address: strip, rowBytes: this.#rowBytes, layout: "lines" };
    const filled = Math.ceil(depth / 4) * 4; // packed in fours; the strip is zero beyond its columns
    gemm.pack(lines, { to: panel, first: 0, count: rows, k: from, depth: filled, width: tileRows });
    for (let channel = 0; channel < headWidth; channel += tileColumns) {
      gemm.multiplyPacked({
        ...{ a: panel, b: matrix + (channel / tileColumns) * panelBytes + 4 * tileColumns * from, c: to + 4 * channel },
        ...{ rows, columns: tileColumns, depth, rowBytes, adds },
      });
    }
  }
}

interface Strip {
  readonly rows: number;
  readonly columns: number;
  readonly matrix: number;
  readonly to: number;
}
