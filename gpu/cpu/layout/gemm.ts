/**
 * C (rows, columns) = A B or += A B, packed and blocked for the caches, summed in ascending depth, so block sizes
 * change no bit. After Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication" (2008).
 */

import type { CpuKernels } from "../kernels/cpu_kernels.ts";
import { tileColumns, tileRows } from "../kernels/gemm_kernels.ts";

/** In `lines` the depth is contiguous, in `rows` the other side. */
export interface Operand {
  readonly address: number;
  readonly rowBytes: number; // between stored rows
  readonly layout: "lines" | "rows";
}

export interface Product {
  readonly a: Operand;
  readonly b: Operand;
  readonly c: { readonly address: number; readonly rowBytes: number };
  readonly rows: number;
  readonly columns: number; // multiple of 4
  readonly depth: number; // multiple of 4 if an operand is in lines
  readonly adds: boolean;
}

const blockRows = 128; // of A: with the depth 128 KiB, in the L2 cache
const blockColumns = 512; // of B: 512 KiB beside it
const blockDepth = 256;
const lowerColumns = 16; // whole panels of both operands
export const lowerRows = lowerColumns; // unit of a lower half's parts

export const gemmFloats = blockRows * blockDepth + blockColumns * blockDepth + tileRows * tileColumns;

export const isOneBlock = ({ columns, depth }: Pick<Product, "columns" | "depth">): boolean =>
  columns <= blockColumns && depth <= blockDepth;

const fewRows = 3; // packing B pays from the fourth: at 3 rows it took 1.2 to 1.4 times as long, at 4 the same

/** `isPacked` then means nothing: B is read where it is. */
const isOfFewRows = ({ a, rows, depth }: Product): boolean =>
  rows <= fewRows && a.layout === "lines" && depth % 4 === 0;

export class Gemm {
  readonly #kernels: CpuKernels;
  readonly #a: number;
  readonly #b: number;
  readonly #edge: number;

  /** `scratch`: address of `gemmFloats` floats. */
  constructor(kernels: CpuKernels, scratch: number) {
    this.#kernels = kernels;
    this.#a = scratch;
    this.#b = this.#a + 4 * blockRows * blockDepth;
    this.#edge = this.#b + 4 * blockColumns * blockDepth;
  }

  /** `isPacked`: the last product had the same B. */
  multiply(product: Product, { isPacked = false } = {}): void {
    if (isOfFewRows(product)) return this.#multiplyRows(product);
    const { a, b, c, rows, columns, depth, adds } = product;
    const isDone = isPacked && isOneBlock({ columns, depth });
    for (let column = 0; column < columns; column += blockColumns) {
      const ownColumns = Math.min(blockColumns, columns - column);
      for (let k = 0; k < depth; k += blockDepth) {
        const ownDepth = Math.min(blockDepth, depth - k);
        const packed = ownDepth + ownDepth % 2;
        const ofB = { first: column, count: ownColumns, k, depth: ownDepth, width: tileColumns };
        if (!isDone) this.pack(b, { ...ofB, to: this.#b });
        for (let row = 0; row < rows; row += blockRows) {
          const ownRows = Math.min(blockRows, rows - row);
          this.pack(a, { to: this.#a, first: row, count: ownRows, k, depth: ownDepth, width: tileRows });
          const to = c.address + row * c.rowBytes + 4 * column;
          this.multiplyPacked({
            ...{ a: this.#a, b: this.#b, c: to, rowBytes: c.rowBytes },
            ...{ rows: ownRows, columns: ownColumns, depth: packed, adds: adds || k > 0 },
          });
        }
      }
    }
  }

  #multiplyRows({ a, b, c, rows, columns, depth, adds }: Product): void {
    const { multiplyRowLines, multiplyRowRows } = this.#kernels;
    const isOfLines = b.layout === "lines";
    const [across, along] = isOfLines ? [4 * b.rowBytes, 16] : [16, 4 * b.rowBytes];
    const kernel = isOfLines ? multiplyRowLines : multiplyRowRows;
    for (let row = 0; row < rows; row++) {
      const [from, to] = [a.address + row * a.rowBytes, c.address + row * c.rowBytes];
      kernel(from, b.address, to, columns, depth, b.rowBytes, across, along, adds ? 1 : 0);
    }
  }

  /** Rows [from, to) of the lower half of (side, side); beyond the diagonal only in part. */
  multiplyLower({ a, b, c, side, depth, from, to }: LowerRows): void {
    const rowBytes = 4 * side;
    for (let column = 0; column < to; column += blockColumns) {
      const ownColumns = Math.min(blockColumns, to - column);
      for (let k = 0; k < depth; k += blockDepth) {
        const ownDepth = Math.min(blockDepth, depth - k);
        const packed = ownDepth + ownDepth % 2;
        this.pack(b, { to: this.#b, first: column, count: ownColumns, k, depth: ownDepth, width: tileColumns });
        for (let row = Math.max(column, from); row < to; row += blockRows) {
          const end = Math.min(row + blockRows, to);
          this.pack(a, { to: this.#a, first: row, count: end - row, k, depth: ownDepth, width: tileRows });
          for (let at = column; at < Math.min(column + ownColumns, end); at += lowerColumns) {
            const first = Math.max(row, at);
            this.multiplyPacked({
              ...{ a: this.#a + 4 * packed * (first - row), b: this.#b + 4 * packed * (at - column) },
              ...{ c: c + first * rowBytes + 4 * at, rowBytes, rows: end - first },
              ...{ columns: Math.min(lowerColumns, column + ownColumns - at), depth: packed, adds: k > 0 },
            });
          }
        }
      }
    }
  }

  /** Columns of B or rows of A into panels of `width`, at depths from `k` on. */
  pack({ address, rowBytes, layout }: Operand, part: PackedPart): void {
    const { packLines, packRows } = this.#kernels;
    const { to, first, count, k, depth, width } = part;
    const stepBytes = 4 * width;
    const panelBytes = stepBytes * (depth + depth % 2);
    for (let at = 0; at < count; at += 4) {
      const panel = to + Math.floor(at / width) * panelBytes + 4 * (at % width);
      const own = Math.min(4, count - at);
      if (layout === "lines") {
        packLines(address + (first + at) * rowBytes + 4 * k, panel, depth, own, rowBytes, stepBytes);
      } else packRows(address + k * rowBytes + 4 * (first + at), panel, depth, own, rowBytes, stepBytes);
    }
  }

  multiplyPacked({ a, b, c, rows, columns, depth, rowBytes, adds }: PackedProduct): void {
    this.#kernels.multiplyBlock(a, b, c, rows, columns, depth, rowBytes, this.#edge, adds ? 1 : 0);
  }
}

interface LowerRows {
  readonly a: Operand;
  readonly b: Operand;
  readonly c: number;
  readonly side: number; // multiple of 4
  readonly depth: number; // multiple of 4 if an operand is in lines
  readonly from: number; // multiple of `lowerRows`
  readonly to: number; // the same, or `side`
}

interface PackedPart {
  readonly to: number;
  readonly first: number;
  readonly count: number;
  readonly k: number;
  readonly depth: number;
  readonly width: number; // tileRows or tileColumns
}

interface PackedProduct {
  readonly a: number;
  readonly b: number;
  readonly c: number;
  readonly rows: number;
  readonly columns: number;
  readonly depth: number; // even
  readonly rowBytes: number;
  readonly adds: boolean;
}
