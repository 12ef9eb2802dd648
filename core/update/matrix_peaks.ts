/**
 * The longest row and column of every matrix in a payload: a norm concentrated there acts many times as strongly as one
 * spread out (core/orchestrator/merge/payloads/payload_weights.ts).
 */

import type { ParameterTensor } from "../model/spec.ts";

interface Matrix {
  readonly rows: number;
  readonly columns: number;
}

function matrixOf({ shape }: ParameterTensor): Matrix | null {
  const [rows, columns] = shape;
  return shape.length === 2 && rows! > 1 && columns! > 1 ? { rows: rows!, columns: columns! } : null;
}

/** The number of values of each row and column peak, in the table's order. */
export const peakSizes = (tensors: readonly ParameterTensor[]): number[] =>
  tensors.map(matrixOf).flatMap((matrix) => matrix === null ? [] : [matrix.columns, matrix.rows]);

/** Sums runs of values in ascending order. */
export class PeakSum {
  readonly #matrices: readonly (Matrix | null)[];
  readonly #peaks: number[] = []; // squares, of earlier tensors
  #tensor = -1;
  #columns = new Float64Array(0); // squares
  #longestRow = 0;
  #row = 0;
  #rowSquares = 0;

  constructor(tensors: readonly ParameterTensor[]) {
    this.#matrices = tensors.map(matrixOf);
  }

  /** Values [from, to) of `values`; the first is value `at` of the tensor. Padding may surround it. */
  add(tensor: number, { values, from, to, at }: { values: Float32Array; from: number; to: number; at: number }): void {
    while (this.#tensor < tensor) this.#next();
    const matrix = this.#matrices[tensor] ?? null;
    if (matrix === null) return;
    const { rows, columns } = matrix;
    const start = from - at; // of the tensor
    const end = Math.min(to, start + rows * columns);
    for (let i = Math.max(from, start), column = (i - start) % columns; i < end; column = 0) {
      const row = Math.floor((i - start) / columns);
      if (row !== this.#row) this.#endRow(row);
      const stop = Math.min(end, i + columns - column);
      this.#addToRow(values, { from: i, to: stop, column });
      i = stop;
    }
  }

  /** Squares: each matrix's longest row, then its longest column. */
  finish(): readonly number[] {
    while (this.#tensor < this.#matrices.length) this.#next();
    return this.#peaks;
  }

  #addToRow(values: Float32Array, { from, to, column }: { from: number; to: number; column: number }): void {
    const columns = this.#columns;
    let squares = 0;
    for (let i = from, at = column; i < to; i++, at++) {
      const square = values[i]! * values[i]!;
      squares += square;
      columns[at]! += square;
    }
    this.#rowSquares += squares;
  }

  #endRow(next: number): void {
    this.#longestRow = Math.max(this.#longestRow, this.#rowSquares);
    this.#rowSquares = 0;
    this.#row = next;
  }

  #next(): void {
    this.#endRow(0);
    if (this.#columns.length > 0) this.#peaks.push(this.#longestRow, this.#columns.reduce((a, b) => Math.max(a, b), 0));
    this.#longestRow = 0;
    this.#tensor += 1;
    this.#columns = new Float64Array(this.#matrices[this.#tensor]?.columns ?? 0);
  }
}
