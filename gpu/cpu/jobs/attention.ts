/**
 * Causal attention with grouped queries, on strips of four rows. The backward computes probabilities again from
 * ln(sum(e^score)), without a T x T matrix (FlashAttention, arXiv 2205.14135). Sums run over ascending positions and a
 * group's heads in order, so any thread may compute a group.
 */

import type { AttentionSizes } from "../../attention_sizes.ts";
import { qkvWidth } from "../../attention_sizes.ts";
import type { AttentionGradientTensors } from "../../stage_ops.ts";
import type { Operand } from "../layout/gemm.ts";
import type { Hand } from "./job.ts";
import { tileColumns, tileRows } from "../kernels/gemm_kernels.ts";

export type AttentionAddresses = Readonly<Record<keyof AttentionGradientTensors, number>>;

/** A unit is a sequence's heads of one group. */
interface Units {
  readonly from: number;
  readonly to: number;
}

/** In floats. */
function roomOf({ length, headWidth }: AttentionSizes) {
  const columns = Math.ceil(length / tileColumns) * tileColumns;
  return {
    columns,
    strip: tileRows * columns,
    panel: tileRows * Math.max(columns, headWidth) + 2 * tileRows,
    matrix: (columns + 2) * Math.ceil(headWidth / tileColumns) * tileColumns,
  };
}

export function attentionFloats(sizes: AttentionSizes): number {
  const { strip, panel, matrix } = roomOf(sizes);
  return Math.ceil((2 * strip + panel + 4 * matrix) / 16) * 16; // whole cache lines
}

interface Scratch {
  readonly scores: number; // (4, columns)
  readonly products: number; // (4, columns)
  readonly panel: number; // a packed strip
  readonly packed: readonly number[]; // four matrices of a head
}

export class CpuAttention {
  readonly #hand: Pick<Hand, "kernels" | "gemm">;
  readonly #sizes: AttentionSizes;
  readonly #scratch: Scratch;
  readonly #columns: number; // T, up to whole panels
  readonly #rowBytes: number;
  readonly #qkvBytes: number;
  readonly #outBytes: number;
  readonly #scale: number;

  /** `scratch`: address of `attentionFloats` floats. */
  constructor(hand: Pick<Hand, "kernels" | "gemm">, { sizes, scratch }: { sizes: AttentionSizes; scratch: number }) {
    this.#hand = hand;
    this.#sizes = sizes;
    const { heads, headWidth } = sizes;
    const { columns, strip, panel, matrix } = roomOf(sizes);
    this.#columns = columns;
    this.#rowBytes = 4 * columns;
    this.#qkvBytes = 4 * qkvWidth(sizes);
    this.#outBytes = 4 * heads * headWidth;
    this.#scale = 1 / Math.sqrt(headWidth);
    const packed = scratch + 4 * (2 * strip + panel);
    this.#scratch = {
      scores: scratch,
      products: scratch + 4 * strip,
      panel: scratch + 8 * strip,
      packed: [0, 1, 2, 3].map((index) => packed + 4 * index * matrix),
    };
  }

  forward({ qkv, output, logSumExp }: AttentionAddresses, units: Units): void {
    const { length, headWidth } = this.#sizes;
    const { scores } = this.#scratch;
    const [keys, values] = this.#scratch.packed as [number, number];
    for (const { b, head, group, isFirstOfGroup } of this.#heads(units)) {
      const { q, k, v } = this.#operands(qkv, { b, head, group });
      if (isFirstOfGroup) {
        this.#packColumns(k, keys);
        this.#packRows(v, values);
      }
      const sums = logSumExp + 4 * (b * this.#sizes.heads + head) * length;
      for (let first = 0; first < length; first += tileRows) {
        const { rows, columns } = this.#strip(first);
        this.#scores(q, { first, rows, columns, matrix: keys, to: scores });
        this.#hand.kernels.softmax(scores, sums + 4 * first, rows, 4 * columns, this.#rowBytes, first, this.#scale);
        this.#mix(scores, {
          ...{ rows, from: 0, columns, matrix: values, adds: false, rowBytes: this.#outBytes },
          to: output + (b * length + first) * this.#outBytes + 4 * head * headWidth,
        });
      }
    }
  }

  /** dq, and delta = sum(dOut out) per row. */
  backwardQueries(addresses: AttentionAddresses, units: Units): void {
    const { qkv, output, logSumExp, outputGradient, delta, qkvGradient } = addresses;
    const { length, heads, headWidth } = this.#sizes;
    const { scores, products } = this.#scratch;
    const [keys, values, keyRows] = this.#scratch.packed as [number, number, number];
    const { kernels } = this.#hand;
    for (const { b, head, group, isFirstOfGroup } of this.#heads(units)) {
      const { q, k, v } = this.#operands(qkv, { b, head, group });
      const gradient = this.#headOf(outputGradient, { b, head });
      if (isFirstOfGroup) {
        this.#packColumns(k, keys);
        this.#packColumns(v, values);
        this.#packRows(k, keyRows);
      }
      const at = 4 * (b * heads + head) * length;
      const own = this.#headOf(output, { b, head }).address;
      kernels.rowDot(gradient.address, own, delta + at, length, 4 * headWidth, this.#outBytes);
      for (let first = 0; first < length; first += tileRows) {
        const { rows, columns } = this.#strip(first);
        this.#scores(q, { first, rows, columns, matrix: keys, to: scores });
        this.#scores(gradient, { first, rows, columns, matrix: values, to: products });
        kernels.queryGradient(
          ...[scores, products, logSumExp + at + 4 * first, delta + at + 4 * first, rows],
          ...[4 * columns, this.#rowBytes, first, this.#scale],
        );
        this.#mix(scores, {
          ...{ rows, from: 0, columns, matrix: keyRows, adds: false, rowBytes: this.#qkvBytes },
          to: qkvGradient + (b * length + first) * this.#qkvBytes + 4 * head * headWidth,
        });
      }
    }
  }

  backwardKeys({ qkv, logSumExp, outputGradient, delta, qkvGradient }: AttentionAddresses, units: Units): void {
    const { length, heads, kvHeads, headWidth } = this.#sizes;
    const { scores, products } = this.#scratch;
    const [queries, gradients, queryRows, gradientRows] = this.#scratch.packed as [number, number, number, number];
    for (const { b, head, group, isFirstOfGroup } of this.#heads(units)) {
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
        this.#hand.kernels.keyGradient(
          ...[scores, products, logSumExp + at, delta + at, rows, 4 * from, 4 * this.#columns],
          ...[this.#rowBytes, first, length, this.#scale],
        );
        const row = qkvGradient + (b * length + first) * this.#qkvBytes;
        const strip = { rows, from, columns: length, adds: !isFirstOfGroup, rowBytes: this.#qkvBytes };
        this.#mix(scores, { ...strip, matrix: queryRows, to: row + 4 * (heads + group) * headWidth });
        this.#mix(products, { ...strip, matrix: gradientRows, to: row + 4 * (heads + kvHeads + group) * headWidth });
      }
    }
  }

  *#heads({ from, to }: Units): Generator<{ b: number; head: number; group: number; isFirstOfGroup: boolean }> {
    const { heads, kvHeads } = this.#sizes;
    const ofGroup = heads / kvHeads;
    for (let unit = from; unit < to; unit++) {
      const [b, group] = [Math.floor(unit / kvHeads), unit % kvHeads];
      for (let i = 0; i < ofGroup; i++) yield { b, head: group * ofGroup + i, group, isFirstOfGroup: i === 0 };
    }
  }

  /** Of one head, each (T, headWidth). */
  #operands(qkv: number, { b, head, group }: { b: number; head: number; group: number }) {
    const { length, heads, kvHeads, headWidth } = this.#sizes;
    const start = qkv + b * length * this.#qkvBytes;
    const of = (index: number): Operand => ({
      address: start + 4 * index * headWidth,
      rowBytes: this.#qkvBytes,
      layout: "lines",
    });
    return { q: of(head), k: of(heads + group), v: of(heads + kvHeads + group) };
  }

  #headOf(start: number, { b, head }: { b: number; head: number }): Operand {
    const { length, headWidth } = this.#sizes;
    const address = start + b * length * this.#outBytes + 4 * head * headWidth;
    return { address, rowBytes: this.#outBytes, layout: "lines" };
  }

  /** Rows, and the columns they may see, up to whole panels. */
  #strip(first: number): { rows: number; columns: number } {
    const rows = Math.min(tileRows, this.#sizes.length - first);
    return { rows, columns: Math.ceil((first + rows) / tileColumns) * tileColumns };
  }

  /** Rows of a (T, headWidth) matrix become the product's columns. */
  #packColumns(matrix: Operand, to: number): void {
    const { length, headWidth } = this.#sizes;
    this.#hand.gemm.pack(matrix, { to, first: 0, count: length, k: 0, depth: headWidth, width: tileColumns });
  }

  /** Rows of a (T, headWidth) matrix are summed over. */
  #packRows(matrix: Operand, to: number): void {
    const { length, headWidth } = this.#sizes;
    const rows = { ...matrix, layout: "rows" } as const;
    this.#hand.gemm.pack(rows, { to, first: 0, count: headWidth, k: 0, depth: length, width: tileColumns });
  }

  /** (rows, columns) = own rows x a packed matrix's columns. */
  #scores(own: Operand, strip: Strip & { first: number; from?: number }): void {
    const { first, rows, from = 0, columns, matrix, to } = strip;
    const { gemm } = this.#hand;
    const { headWidth } = this.#sizes;
    const { panel } = this.#scratch;
    gemm.pack(own, { to: panel, first, count: rows, k: 0, depth: headWidth, width: tileRows });
    gemm.multiplyPacked({
      ...{ a: panel, b: matrix + 4 * from * headWidth, c: to + 4 * from, rows: tileRows, columns: columns - from },
      ...{ depth: headWidth, rowBytes: this.#rowBytes, adds: false },
    });
  }

  /** (rows, headWidth) = or += columns [from, columns) of the strip x the rows of a packed matrix. */
  #mix(strip: number, options: Strip & { from: number; adds: boolean; rowBytes: number }): void {
    const { rows, from, columns, matrix, to, adds, rowBytes } = options;
    const { gemm } = this.#hand;
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
