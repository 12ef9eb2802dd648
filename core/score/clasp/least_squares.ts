/**
 * CLASP by least squares: value = constant + the effects of the miners on the path, each stage's effects summing to zero.
 *
 * Owns: the normal equations and their solution. A sample adds its places' counts to a matrix, so memory does not grow with
 * samples; it is one number for each pair of places, which the book's `mostPlaces` bounds (2 MiB at 512). Solved by Cholesky's
 * method when asked. Places that pathways never told apart make the matrix singular: then there is no answer yet.
 */

import { assert } from "../../assert.ts";
import type { ClaspBook, ClaspEffect, Place } from "./clasp.ts";
import { fewestDegrees } from "./moments.ts";

export interface LeastSquares {
  readonly size: number; // most places
  readonly together: Float64Array; // (size, size): samples in which both places took part
  readonly sums: Float64Array; // (size): of the values of a place's samples
  samples: number;
  sum: number;
  squares: number;
}

export function openLeastSquares({ options: { mostPlaces: size } }: ClaspBook): LeastSquares {
  const together = new Float64Array(size * size);
  return { size, together, sums: new Float64Array(size), samples: 0, sum: 0, squares: 0 };
}

/** A sample as the book took it (`addPathway`). */
export function addSample(
  equations: LeastSquares,
  { places, value }: { places: readonly Place[]; value: number },
): void {
  const { size, together, sums } = equations;
  for (const { index } of places) {
    assert(index < size, "The book and its equations have room for the same places");
    sums[index]! += value;
    for (const other of places) together[index * size + other.index]! += 1;
  }
  equations.samples += 1;
  equations.sum += value;
  equations.squares += value ** 2;
}

/** Of every place, in the book's order; null: pathways do not tell all places apart yet. */
export function solveEffects(equations: LeastSquares, book: ClaspBook): ClaspEffect[] | null {
  const places = [...book.places.values()];
  const order = places.length + 1; // the constant is the last
  const plain = normalMatrix(equations, places);
  const factor = cholesky(withConstraints(plain, places), order);
  if (factor === null) return null;
  const right = new Float64Array(order);
  right.set(equations.sums.subarray(0, places.length));
  right[order - 1] = equations.sum;
  const effects = solve(factor, { right, order });
  const explained = effects.reduce((sum, effect, i) => sum + effect * right[i]!, 0);
  const free = equations.samples - (order - book.options.stages);
  const variance = free < fewestDegrees ? null : Math.max(0, equations.squares - explained) / free;
  return places.map(({ stage, miner, index, moments }) => {
    const unit = new Float64Array(order);
    unit[index] = 1;
    const column = solve(factor, { right: unit, order });
    const spread = quadratic(plain, { vector: column, order });
    return {
      ...{ stage, miner, samples: moments.count, effect: effects[index]! },
      standardError: variance === null ? null : Math.sqrt(variance * spread),
    };
  });
}

/** (order, order) of all places and the constant. */
function normalMatrix({ size, together, samples }: LeastSquares, places: readonly Place[]): Float64Array {
  const last = places.length, order = last + 1;
  const matrix = new Float64Array(order * order);
  for (let i = 0; i < last; i++) {
    for (let j = 0; j < last; j++) matrix[i * order + j] = together[i * size + j]!;
    matrix[i * order + last] = matrix[last * order + i] = together[i * size + i]!;
  }
  matrix[last * order + last] = samples;
  return matrix;
}

/** Adds the square of each stage's sum of effects, which the best fit can make zero without changing anything else. */
function withConstraints(plain: Float64Array, places: readonly Place[]): Float64Array {
  const matrix = plain.slice();
  const order = places.length + 1;
  for (const a of places) {
    for (const b of places) if (a.stage === b.stage) matrix[a.index * order + b.index]! += 1;
  }
  return matrix;
}

const singular = 1e-10; // of the diagonal

/** Lower factor; null: the matrix is singular. */
function cholesky(matrix: Float64Array, order: number): Float64Array | null {
  const lower = new Float64Array(order * order);
  for (let i = 0; i < order; i++) {
    for (let j = 0; j <= i; j++) {
      let rest = matrix[i * order + j]!;
      for (let k = 0; k < j; k++) rest -= lower[i * order + k]! * lower[j * order + k]!;
      if (i !== j) lower[i * order + j] = rest / lower[j * order + j]!;
      else if (rest <= singular * matrix[i * order + i]!) return null;
      else lower[i * order + i] = Math.sqrt(rest);
    }
  }
  return lower;
}

function solve(lower: Float64Array, { right, order }: { right: Float64Array; order: number }): Float64Array {
  const result = right.slice();
  for (let i = 0; i < order; i++) {
    for (let k = 0; k < i; k++) result[i]! -= lower[i * order + k]! * result[k]!;
    result[i]! /= lower[i * order + i]!;
  }
  for (let i = order - 1; i >= 0; i--) {
    for (let k = i + 1; k < order; k++) result[i]! -= lower[k * order + i]! * result[k]!;
    result[i]! /= lower[i * order + i]!;
  }
  return result;
}

function quadratic(matrix: Float64Array, { vector, order }: { vector: Float64Array; order: number }): number {
  let sum = 0;
  for (let i = 0; i < order; i++) {
    let row = 0;
    for (let j = 0; j < order; j++) row += matrix[i * order + j]! * vector[j]!;
    sum += vector[i]! * row;
  }
  return Math.max(0, sum);
}
