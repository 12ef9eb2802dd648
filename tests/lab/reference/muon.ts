/**
 * Muon as it is written down: the Newton-Schulz rounds on the whole matrix, in float64. AdamW steps what Muon leaves.
 *
 * State at rest is float32, as with AdamW: momentum and parameters are rounded after the update.
 */

import { present } from "../../../core/assert.ts";
import { type Matrix, muon, muonMatrices, muonNumbers } from "../../../core/train/muon.ts";
import type { StepOptions } from "../../../gpu/compute.ts";
import { adamw } from "./adamw.ts";
import { linear } from "./linear.ts";
import type { ReferenceState } from "./reference_state.ts";

/** One step on the accumulated gradient; updates `state` in place. */
export function muonStep(state: ReferenceState, gradients: Float64Array, options: StepOptions): void {
  const { table, parameters, vectors } = state;
  const momentum = present(vectors.get("momentum"), "Muon keeps a momentum");
  let stateOffset = 0;
  for (const matrix of muonMatrices(table)) {
    const { offset, size } = matrix;
    const parts = {
      values: parameters.subarray(offset, offset + size),
      gradient: gradients.subarray(offset, offset + size),
      momentum: momentum.subarray(stateOffset, stateOffset + size),
    };
    stepMatrix(matrix, parts, options);
    stateOffset += size;
  }
  stepRest(state, gradients, options);
}

interface MatrixParts {
  readonly values: Float64Array; // (rows, columns)
  readonly gradient: Float64Array;
  readonly momentum: Float64Array;
}

function stepMatrix(
  { rows, columns }: Matrix,
  { values, gradient, momentum }: MatrixParts,
  options: StepOptions,
): void {
  const { gradientScale, learningRate, weightDecay } = options;
  const direction = values.map((_, i) => {
    const g = gradient[i]! * gradientScale;
    momentum[i] = Math.fround(muonNumbers.momentum * momentum[i]! + g);
    return g + muonNumbers.momentum * momentum[i]!;
  });
  const change = rows > columns
    ? transposed(orthogonal(transposed(direction, { rows, columns }), { rows: columns, columns: rows }), {
      rows: columns,
      columns: rows,
    })
    : orthogonal(direction, { rows, columns });
  const rate = learningRate * muonNumbers.rateFactor;
  const scale = muonNumbers.scale * Math.sqrt(Math.max(rows, columns));
  values.forEach((value, i) => values[i] = Math.fround(value * (1 - rate * weightDecay) - rate * scale * change[i]!));
}

interface Shape {
  readonly rows: number;
  readonly columns: number;
}

/** A wide matrix with its singular values brought near one. */
export function orthogonal(direction: Float64Array, { rows, columns }: Shape): Float64Array {
  const { epsilon, rounds, polynomial: { a, b, c } } = muonNumbers;
  const norm = Math.sqrt(direction.reduce((sum, value) => sum + value * value, 0));
  let x = direction.map((value) => value / (norm + epsilon));
  for (let round = 0; round < rounds; round++) {
    const gram = linear({ x, matrix: x }, { rows, inputs: columns, outputs: rows });
    const square = linear({ x: gram, matrix: gram }, { rows, inputs: rows, outputs: rows }); // it is symmetric
    const factor = gram.map((value, i) => b * value + c * square[i]!);
    const product = linear({ x: factor, matrix: transposed(x, { rows, columns }) }, {
      rows,
      inputs: rows,
      outputs: columns,
    });
    x = x.map((value, i) => a * value + product[i]!);
  }
  return x;
}

function transposed(values: Float64Array, { rows, columns }: Shape): Float64Array {
  return values.map((_, i) => values[(i % rows) * columns + Math.floor(i / rows)]!);
}

function stepRest(
  { table, parameters, vectors, steps }: ReferenceState,
  gradients: Float64Array,
  options: StepOptions,
) {
  const moments = ["firstMoments", "secondMoments"].map((name) => present(vectors.get(name), "Muon keeps moments"));
  const rest = present(muon.stateVectors(table).find(({ name }) => name === "firstMoments"), "Muon keeps moments");
  let stateOffset = 0;
  for (const { offset, size } of rest.covers) {
    const [first, second] = moments.map((vector) => vector.subarray(stateOffset, stateOffset + size));
    const own = {
      parameters: parameters.subarray(offset, offset + size),
      first: first!,
      second: second!,
      decayLength: table.decayLength - offset, // of this range; may be negative or beyond it
      steps,
    };
    adamw(own, gradients.subarray(offset, offset + size), options);
    stateOffset += size;
  }
}
