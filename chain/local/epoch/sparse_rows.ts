/** Sparse matrices by validator and miner. A missing entry is zero; no row names a uid twice. */

import { type Fixed, normalized, ratio, sumOf, times } from "./fixed.ts";

export type SparseRow = readonly (readonly [uid: number, value: Fixed])[];

export const mapCells = (
  rows: readonly SparseRow[],
  change: (value: Fixed, column: number, row: number) => Fixed,
): SparseRow[] => rows.map((row, i) => row.map(([j, value]) => [j, change(value, j, i)] as const));

export const keepCells = (
  rows: readonly SparseRow[],
  isKept: (column: number, row: number) => boolean,
): SparseRow[] => rows.map((row, i) => row.filter(([j]) => isKept(j, i)));

export const rowSums = (rows: readonly SparseRow[]): Fixed[] => rows.map((row) => sumOf(row.map(([, value]) => value)));

export function rowNormalized(rows: readonly SparseRow[]): SparseRow[] {
  return rows.map((row) => {
    const values = normalized(row.map(([, value]) => value));
    return row.map(([j], k) => [j, values[k] ?? 0n] as const);
  });
}

function foldColumns(
  rows: readonly SparseRow[],
  columns: number,
  fold: (soFar: Fixed, value: Fixed, row: number) => Fixed,
): Fixed[] {
  const folded: Fixed[] = new Array(columns).fill(0n);
  rows.forEach((row, i) => row.forEach(([j, value]) => folded[j] = fold(folded[j] ?? 0n, value, i)));
  return folded;
}

export function columnNormalized(rows: readonly SparseRow[], columns: number): SparseRow[] {
  const sums = foldColumns(rows, columns, (sum, value) => sum + value);
  return mapCells(rows, (value, j) => sums[j] === 0n ? value : ratio(value, sums[j] ?? 0n));
}

/** As bonds are stored. */
export function columnMaxUpscaled(rows: readonly SparseRow[], columns: number): SparseRow[] {
  const maxima = foldColumns(rows, columns, (max, value) => value > max ? value : max);
  return mapCells(rows, (value, j) => maxima[j] === 0n ? value : ratio(value, maxima[j] ?? 0n));
}

/** Column j: sum over i of value(i, j) x weight(i). */
export const weightedColumnSums = (rows: readonly SparseRow[], weights: readonly Fixed[], columns: number): Fixed[] =>
  foldColumns(rows, columns, (sum, value, i) => sum + times(value, weights[i] ?? 0n));

/** Row i: sum over j of value(i, j) x weight(j). */
export const weightedRowSums = (rows: readonly SparseRow[], weights: readonly Fixed[]): Fixed[] =>
  rows.map((row) => sumOf(row.map(([j, value]) => times(value, weights[j] ?? 0n))));

/** Ascending columns, without zeros. */
export function blended(
  left: { readonly rows: readonly SparseRow[]; readonly factor: Fixed },
  right: { readonly rows: readonly SparseRow[]; readonly factor: Fixed },
): SparseRow[] {
  return left.rows.map((row, i) => {
    const cells = new Map<number, Fixed>();
    for (const [j, value] of row) cells.set(j, times(left.factor, value));
    for (const [j, value] of right.rows[i] ?? []) cells.set(j, (cells.get(j) ?? 0n) + times(right.factor, value));
    return [...cells].filter(([, value]) => value > 0n).sort(([a], [b]) => a - b);
  });
}
