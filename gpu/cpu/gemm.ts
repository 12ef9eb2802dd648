/**
 * Matrix products of the processor's backend: C (rows, columns) = A B or += A B, packed and blocked so that panels stay in the
 * caches.
 *
 * Either operand may be stored transposed: packing reads both ways. Each output is summed in ascending depth from 0, or from
 * what C held, so block sizes change no bit. After Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication"
 * (2008).
 */

import type { CpuKernels } from "./kernels/cpu_kernels.ts";
import { tileColumns, tileRows } from "./kernels/gemm_kernels.ts";
import type { CpuMemory } from "./memory.ts";

/** A matrix as it lies in memory: `lines` mean that its depth is contiguous, `rows` that its other side is. */
export interface Operand {
  readonly address: number;
  readonly rowBytes: number; // between two rows as stored
  readonly layout: "lines" | "rows";
}

export interface Product {
  readonly a: Operand;
  readonly b: Operand;
  readonly c: { readonly address: number; readonly rowBytes: number };
  readonly rows: number;
  readonly columns: number; // a multiple of 4
  readonly depth: number; // a multiple of 4 where an operand is in lines
  readonly adds: boolean;
}

const blockRows = 128; // of A: with the depth 128 KiB, in the second cache
const blockColumns = 512; // of B: 512 KiB beside it
const blockDepth = 256;

export class Gemm {
  readonly #kernels: CpuKernels;
  readonly #a: number;
  readonly #b: number;
  readonly #edge: number;

  constructor(memory: CpuMemory, kernels: CpuKernels) {
    this.#kernels = kernels;
    this.#a = memory.scratch("packed a", blockRows * blockDepth).offset;
    this.#b = memory.scratch("packed b", blockColumns * blockDepth).offset;
    this.#edge = memory.scratch("edge tile", tileRows * tileColumns).offset;
  }

  multiply({ a, b, c, rows, columns, depth, adds }: Product): void {
    for (let column = 0; column < columns; column += blockColumns) {
      const ownColumns = Math.min(blockColumns, columns - column);
      for (let k = 0; k < depth; k += blockDepth) {
        const ownDepth = Math.min(blockDepth, depth - k);
        const packed = ownDepth + ownDepth % 2;
        this.pack(b, { to: this.#b, first: column, count: ownColumns, k, depth: ownDepth, width: tileColumns });
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

  /** Packs `count` columns of B, or rows of A, from `first` on into panels of `width`, at the depths from `k` on. */
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

export interface PackedPart {
  readonly to: number;
  readonly first: number;
  readonly count: number;
  readonly k: number;
  readonly depth: number;
  readonly width: number; // tileRows or tileColumns
}

export interface PackedProduct {
  readonly a: number;
  readonly b: number;
  readonly c: number;
  readonly rows: number;
  readonly columns: number;
  readonly depth: number; // even
  readonly rowBytes: number;
  readonly adds: boolean;
}
