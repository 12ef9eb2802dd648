/**
 * Matrix products in panels of rows or columns, whichever are more, so that threads pack the smaller operand; lower
 * halves in strips of rows.
 */

import type { Operand, Product } from "../layout/gemm.ts";
import { isOneBlock, lowerRows } from "../layout/gemm.ts";
import { tileColumns, tileRows } from "../kernels/gemm_kernels.ts";
import type { Job, Operation } from "./job.ts";

const flopsPerNs = 40; // one thread, widths 128 to 512
const packedPerNs = 5; // floats

const operandNumbers = ({ address, rowBytes, layout }: Operand) => [address, rowBytes, layout === "rows" ? 1 : 0];

function operandAt(numbers: readonly number[], at: number): Operand {
  return { address: numbers[at]!, rowBytes: numbers[at + 1]!, layout: numbers[at + 2] === 1 ? "rows" : "lines" };
}

/** `residual`: address of C's initial values, with C's row distance; 0: nothing. */
export function productJob({ residual, ...product }: Product & { readonly residual: number }): Job {
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
