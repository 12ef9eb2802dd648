/**
 * Muon (Jordan and others 2024, kellerjordan.github.io/posts/muon) for matrices inside blocks and boundaries: momentum
 * made nearly orthogonal by Newton-Schulz rounds. AdamW for embedding, head, side tables and gains. `momentum` covers
 * whole matrices, each contiguous.
 */

import type { RunConfig } from "../config/config.ts";
import { boundaryTensors, hasRowForEachToken, type ParameterTable, type ParameterTensor } from "../model/spec.ts";
import { longestAdamStep } from "./adam_bound.ts";
import type { Optimizer, VectorRange } from "./optimizer.ts";

/**
 * With momentum m and gradient g: m = momentum m + g, u = g + momentum m (Nesterov), X = u / (|u| + epsilon). Each
 * round takes X to a X + b (X Xᵀ) X + c (X Xᵀ)² X. The change is -rate scale sqrt(max(rows, columns)) X, where the rate
 * is the run's times `rateFactor`; weight decay is decoupled, at the same rate. The scale gives X the root mean square
 * of AdamW's steps (Liu and others 2025, arXiv 2502.16982).
 */
export const muonNumbers = {
  momentum: 0.95,
  epsilon: 1e-7,
  rounds: 5,
  polynomial: { a: 3.4445, b: -4.775, c: 2.0315 },
  scale: 0.2,
  rateFactor: 2.5,
} as const;

export interface Matrix extends ParameterTensor {
  readonly rows: number;
  readonly columns: number;
}

/** Sides are multiples of 4, as the devices' products need. */
export function muonMatrices({ tensors }: ParameterTable): Matrix[] {
  return tensors.flatMap((tensor) => {
    const [rows = 0, columns = 0] = tensor.shape;
    const isHidden = tensor.shape.length === 2 && !hasRowForEachToken(tensor.name);
    return isHidden && rows % 4 === 0 && columns % 4 === 0 ? [{ ...tensor, rows, columns }] : [];
  });
}

/** Joins neighbours. */
function rangesOf(matrices: readonly Matrix[]): VectorRange[] {
  const ranges: VectorRange[] = [];
  for (const { offset, size } of matrices) {
    const last = ranges.at(-1);
    if (last !== undefined && last.offset + last.size === offset) {
      ranges[ranges.length - 1] = { offset: last.offset, size: last.size + size };
    } else ranges.push({ offset, size });
  }
  return ranges;
}

/** The complement of ascending ranges. */
function restOf(ranges: readonly VectorRange[], length: number): VectorRange[] {
  const ends = [{ offset: 0, size: 0 }, ...ranges];
  return ends.flatMap(({ offset, size }, i) => {
    const start = offset + size;
    const end = ranges[i]?.offset ?? length;
    return end > start ? [{ offset: start, size: end - start }] : [];
  });
}

/**
 * Singular values of X start in [0, 1], by the Frobenius norm, and each round maps [0, 1.2024] into itself: the
 * polynomial's maximum is 1.2024, at 0.5545. The rest is room for rounding.
 */
const largestSingularValue = 1.21;

/** Blocks have sides of the model's and the head's width, boundaries those of their codecs. */
function longestSide(config: RunConfig): number {
  const { width, ffnWidth } = config.model;
  const hidden = boundaryTensors(config).flat().filter(({ name }) => !hasRowForEachToken(name));
  return Math.max(width, ffnWidth, ...hidden.flatMap(({ shape }) => shape));
}

export const muon: Optimizer = {
  stateVectors: (table) => {
    const matrices = rangesOf(muonMatrices(table));
    const rest = restOf(matrices, table.length);
    return [
      { name: "momentum", covers: matrices },
      { name: "firstMoments", covers: rest },
      { name: "secondMoments", covers: rest },
    ];
  },
  /**
   * With singular values below s, the Frobenius norm of X is below s sqrt(min(rows, columns)), its root mean square
   * below s / sqrt(max(rows, columns)); the step's scale cancels the shape. One value of X is below s.
   */
  longestStep: (config) => {
    const { scale, rateFactor } = muonNumbers;
    const ofAdam = longestAdamStep(config.train);
    const rootMeanSquare = scale * rateFactor * largestSingularValue;
    return {
      rootMeanSquare: Math.max(ofAdam, rootMeanSquare),
      value: Math.max(ofAdam, rootMeanSquare * Math.sqrt(longestSide(config))),
    };
  },
  largestRate: { rate: 0.02, error: 2.7e-4, beyond: { rate: 0.05, error: 8.1e-3 } },
};
