/**
 * Matrix products in panels of rows or columns, whichever are more, so that threads pack the smaller operand; lower
 * halves in strips of rows.
 */

import type { Operand, Product } from "../layout/gemm.ts";
import { isOneBlock, lowerRows } from "../layout/gemm.ts";
import { tileColumns, tileRows } from "../kernels/gemm_kernels.ts";
import { thinRows } from "../kernels/thin_kernels.ts";
import type { Job, Operation } from "./job.ts";

const flopsPerNs = 40; // one thread, widths 128 to 512
const packedPerNs = 5; // floats
const thinPerNs = 4; // multiply-adds

const operandNumbers = ({ address, rowBytes, layout }: Operand) => [address, rowBytes, layout === "rows" ? 1 : 0];

function operandAt(numbers: readonly number[], at: number): Operand {
  return { address: numbers[at]!, rowBytes: numbers[at + 1]!, layout: numbers[at + 2] === 1 ? "rows" : "lines" };
}

const mostThin = 2 * thinRows; // rows; from 12 on, panels are faster

/** `residual`: address of C's initial values, with C's row distance; 0: nothing. */
export function productJob({ residual, ...product }: Product & { readonly residual: number }): Job {
  const isWhole = product.b.rowBytes === 4 * product.depth;
  if (product.rows <= mostThin && product.a.layout === "lines" && product.b.layout === "lines" && isWhole) {
    return thinJob({ residual, ...product });
  }
  const { a, b, c, rows, columns, depth, adds } = product;
  const units = isByRows(product) ? Math.ceil(rows / tileRows) : Math.ceil(columns / tileColumns);
  return {
    operation: "product",
    numbers: [
      ...[...operandNumbers(a), ...operandNumbers(b), c.address, c.rowBytes],
      ...[rows, columns, depth, adds ? 1 : 0, residual],
    ],
    units,
    unitNs: 2 * rows * columns * depth / flopsPerNs / units,
    rangeNs: isByRows(product) && isOneBlock(product) ? 0 : Math.min(rows, columns) * depth / packedPerNs,
  };
}

const thinColumns = 16; // a cache line of y

function thinJob({ a, b, c, rows, columns, depth, adds, residual }: Product & { readonly residual: number }): Job {
  return {
    operation: "thinProduct",
    numbers: [a.address, a.rowBytes, b.address, c.address, c.rowBytes, rows, columns, depth, adds ? 1 : 0, residual],
    units: Math.ceil(columns / thinColumns),
    unitNs: thinColumns * depth * rows / thinPerNs,
  };
}

export const runThinProduct: Operation = ({ kernels, memory }, numbers) => {
  const [x, xRowBytes, w, y, yRowBytes, rows, columns, depth, adds, residual] = numbers as [
    ...[number, number, number, number, number],
    ...[number, number, number, number, number],
  ];
  return (from, to) => {
    const first = from * thinColumns;
    const own = Math.min(columns, to * thinColumns) - first;
    const address = y + 4 * first;
    const c = { address, rowBytes: yRowBytes };
    if (residual > 0) copyRows(memory, { c, rows, columns: own, from: residual + 4 * first });
    for (let row = 0; row < rows; row += thinRows) {
      kernels.thinProduct(
        ...[x + row * xRowBytes, w + 4 * depth * first, address + row * yRowBytes],
        ...[Math.min(thinRows, rows - row), own, 4 * depth, xRowBytes, yRowBytes, adds],
      );
    }
  };
};

const isByRows = ({ rows, columns }: { readonly rows: number; readonly columns: number }) => rows >= columns;

function moved(operand: Operand, index: number): Operand {
  const { address, rowBytes, layout } = operand;
  return { ...operand, address: address + index * (layout === "lines" ? rowBytes : 4) };
}

export const runProduct: Operation = ({ gemm, memory }, numbers) => {
  const [a, b] = [operandAt(numbers, 0), operandAt(numbers, 3)];
  const [address, rowBytes, rows, columns, depth, adds, residual] = numbers.slice(6) as [
    ...[number, number, number, number, number, number, number],
  ];
  const byRows = isByRows({ rows, columns });
  let isPacked = false;
  return (from, to) => {
    const [row, column] = byRows ? [from * tileRows, 0] : [0, from * tileColumns];
    const part = {
      ...{ a: moved(a, row), b: moved(b, column), depth, adds: adds === 1 },
      c: { address: address + row * rowBytes + 4 * column, rowBytes },
      rows: byRows ? Math.min(rows, to * tileRows) - row : rows,
      columns: byRows ? columns : Math.min(columns, to * tileColumns) - column,
    };
    if (residual > 0) copyRows(memory, { ...part, from: residual + row * rowBytes + 4 * column });
    gemm.multiply(part, { isPacked });
    isPacked = byRows;
  };
};

function copyRows(memory: WebAssembly.Memory, part: Pick<Product, "c" | "rows" | "columns"> & { from: number }): void {
  const { from, c: { address, rowBytes }, rows, columns } = part;
  const bytes = new Uint8Array(memory.buffer);
  if (4 * columns === rowBytes) {
    bytes.copyWithin(address, from, from + rows * rowBytes);
  } else {
    for (let at = 0; at < rows * rowBytes; at += rowBytes) {
      bytes.copyWithin(address + at, from + at, from + at + 4 * columns);
    }
  }
}

export interface LowerProduct {
  readonly a: Operand;
  readonly b: Operand;
  readonly c: number;
  readonly side: number; // multiple of 4
  readonly depth: number; // multiple of 4 if an operand is in lines
}

export function lowerProductJob({ a, b, c, side, depth }: LowerProduct): Job {
  const units = Math.ceil(side / lowerRows);
  return {
    operation: "lowerProduct",
    numbers: [...operandNumbers(a), ...operandNumbers(b), c, side, depth],
    units,
    unitNs: side * side * depth / flopsPerNs / units,
    rangeNs: side * depth / packedPerNs,
  };
}

export const runLowerProduct: Operation = ({ gemm }, numbers) => {
  const [a, b] = [operandAt(numbers, 0), operandAt(numbers, 3)];
  const [c, side, depth] = numbers.slice(6) as [number, number, number];
  return (from, to) => {
    gemm.multiplyLower({ a, b, c, side, depth, from: from * lowerRows, to: Math.min(side, to * lowerRows) });
  };
};
