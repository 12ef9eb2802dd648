/**
 * The longest row and the longest column of every matrix in a payload.
 *
 * A matrix whose norm is concentrated in one row or column acts many times as strongly on its input as one with the
 * same norm spread out. Out of scope: the consequences (core/orchestrator/merge/payloads/payload_weights.ts).
 */

import type { ParameterTensor } from "../model/spec.ts";

interface Matrix {
  readonly rows: number;
  readonly columns: number;
}

/** Null for vectors. */
function matrixOf({ shape }: ParameterTensor): Matrix | null {
  const [rows, columns] = shape;
  return shape.length === 2 && rows! > 1 && columns! > 1 ? { rows: rows!, columns: columns! } : null;
}

/** The number of values of each of a payload's peaks: a row and a column of each matrix, in the order of the table. */
export const peakSizes = (tensors: readonly ParameterTensor[]): number[] =>
  tensors.map(matrixOf).flatMap((matrix) => matrix === null ? [] : [matrix.columns, matrix.rows]);

/** Sums over runs of values in ascending order. */
export class PeakSum {
  readonly #matrices: readonly (Matrix | null)[];
  readonly #peaks: number[] = []; // squares, of the tensors before the open one
  #tensor = -1;
  #columns = new Float64Array(0); // squares so far
  #longestRow = 0;
  #row = 0; // number of the open one
  #rowSquares = 0;

  constructor(tensors: readonly ParameterTensor[]) {
    this.#matrices = tensors.map(matrixOf);
  }

  /** Values [from, to) of `values`, the first of which is value `at` of the tensor. Padding may surround it. */
  add(tensor: number, { values, from, to, at }: { values: Float32Array; from: number; to: number; at: number }): void {
    while (this.#tensor < tensor) this.#next();
    const matrix = this.#matrices[tensor] ?? null;
    if (matrix === null) return;
    const { rows, columns } = matrix;
    const start = from - at; // where the tensor begins
    const end = Math.min(to, start + rows * columns);
    for (let i = Math.max(from, start), column = (i - start) % columns; i < end; column = 0) {
      const row = Math.floor((i - start) / columns);
      if (row !== this.#row) this.#endRow(row);
      const stop = Math.min(end, i + columns - column);
      this.#addToRow(values, { from: i, to: stop, column });
      i = stop;
    }
  }

  /** Ends the sums. Squares: for each matrix its longest row's, then its longest column's. */
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
