/**
 * Muon's step on a device, from matrix products; AdamW steps the other tensors.
 *
 * A Newton-Schulz round multiplies X by a polynomial P = a I + b A + c A² of its Gram matrix A (n, n), n the shorter
 * side, which takes A to P A P. So rounds run on A alone and collect Q = P₅ P₄ P₃ P₂ P₁, and one product Q X ends them.
 * That is half the work if one side is three times the other, and all products but the first and last are of symmetric
 * matrices that commute, so one half suffices. In float32 a change is 1e-6 to 5e-4 off (at most 1.2e-3 if both halves
 * are computed), worst for a gradient of rank one; rounds on X give 1e-6 to 9e-5. X is divided by the root of A's
 * trace.
 *
 * Matrices share one scratch.
 */

import { present } from "../../core/assert.ts";
import { type Matrix, muonMatrices, muonNumbers } from "../../core/train/muon.ts";
import type { StepOptions } from "../compute.ts";
import { type BufferRange, type DeviceBuffers, type Dispatch, partOf, type StageOps } from "../stage_ops.ts";
import { TooLargeError } from "../fit/too_large.ts";
import type { Update, VectorParts } from "../stage_vectors.ts";
import { numbersLength, type OrthogonalOps } from "./orthogonal_ops.ts";

interface MuonParts extends VectorParts {
  readonly ops: StageOps;
  readonly orthogonal: OrthogonalOps;
  readonly buffers: DeviceBuffers;
  readonly rest: Update;
}

export function buildMuon(parts: MuonParts): Update {
  const { buffers, table, vectors, rest } = parts;
  const momentum = present(vectors.state.get("momentum"), "Muon keeps a momentum").vector;
  const matrices = muonMatrices(table);
  const scratch = allocate(buffers, matrices);
  const dispatches: Dispatch[] = [];
  let stateOffset = 0;
  for (const matrix of matrices) {
    mustBeWhole(parts, matrix);
    const ofState = momentum.part({ offset: stateOffset, size: matrix.size });
    dispatches.push(...stepOf(parts, { matrix, momentum: ofState, scratch }));
    stateOffset += matrix.size;
  }
  return {
    dispatches: [...dispatches, ...rest.dispatches],
    uploads: (options, steps) => [
      { range: scratch.numbers, values: numbersOf(options) },
      ...rest.uploads(options, steps),
    ],
  };
}

function mustBeWhole({ buffers, vectors }: MuonParts, { name, size, offset }: Matrix): void {
  if (vectors.parameters.pieces({ offset, size }).length === 1) return;
  const limit = { bytes: 4 * size, limitBytes: buffers.largestBytes };
  throw new TooLargeError({
    label: name,
    action: `step '${name}' with Muon, where a matrix is one buffer, as it`,
    ...limit,
  });
}

function numbersOf({ gradientScale, learningRate, weightDecay }: StepOptions): Float32Array {
  const rate = learningRate * muonNumbers.rateFactor;
  return Float32Array.of(gradientScale, rate, rate * weightDecay, 0);
}

interface Scratch {
  readonly numbers: BufferRange;
  readonly direction: BufferRange; // (rows, columns) of the largest matrix
  readonly change: BufferRange;
  readonly inverse: BufferRange; // see OrthogonalOps.unitTrace
  readonly squares: readonly BufferRange[]; // four (n, n) of the largest n
}

const shortSide = ({ rows, columns }: Matrix): number => Math.min(rows, columns);

function allocate(buffers: DeviceBuffers, matrices: readonly Matrix[]): Scratch {
  const most = (sizeOf: (matrix: Matrix) => number) => matrices.reduce((so, each) => Math.max(so, sizeOf(each)), 0);
  const count = most(({ size }) => size);
  const squareCount = most((matrix) => shortSide(matrix) ** 2);
  return {
    numbers: buffers.storage("muon numbers", numbersLength),
    direction: buffers.storage("muon direction", count),
    change: buffers.storage("muon change", count),
    inverse: buffers.storage("muon inverse norm", 4),
    squares: [0, 1, 2, 3].map((i) => buffers.storage(`muon square ${i}`, squareCount)),
  };
}

function stepOf(
  { ops, orthogonal, vectors }: MuonParts,
  { matrix, momentum, scratch }: { matrix: Matrix; momentum: BufferRange; scratch: Scratch },
): Dispatch[] {
  const { rows, columns, size: count } = matrix;
  const { numbers, inverse } = scratch;
  const whole = { offset: 0, size: count };
  const [direction, change] = [partOf(scratch.direction, whole), partOf(scratch.change, whole)];
  const parameters = vectors.parameters.part(matrix);
  const gradient = vectors.gradients.part(matrix);
  const side = shortSide(matrix);
  const { dispatches: factor, gram, result } = factorOf(orthogonal, { side, inverse, squares: scratch.squares });
  const scale = muonNumbers.scale * Math.sqrt(Math.max(rows, columns));
  return [
    orthogonal.nesterov({ count, decay: muonNumbers.momentum }, { gradient, momentum, direction, numbers }),
    ...orthogonal.gram({ rows, columns }, { matrix: direction, output: gram }),
    ...factor,
    rows > columns
      ? ops.linear({ rows, inWidth: side, outWidth: side }, { input: direction, weight: result, output: change })
      : ops.linearInputGradient({ rows, inWidth: columns, outWidth: side }, {
        ...{ outputGradient: result, weight: direction, inputGradient: change },
      }),
    orthogonal.descend({ count, scale }, { parameters, change, inverse, numbers }),
  ];
}

interface Factor {
  readonly dispatches: readonly Dispatch[];
  readonly gram: BufferRange; // the Gram matrix, before
  readonly result: BufferRange; // Q, after
}

/** Both are (side, side). */
function factorOf(
  orthogonal: OrthogonalOps,
  { side, inverse, squares }: { side: number; inverse: BufferRange; squares: readonly BufferRange[] },
): Factor {
  const ofSide = squares.map((range) => partOf(range, { offset: 0, size: side * side }));
  const [gram, power, ...others] = ofSide as [BufferRange, BufferRange, BufferRange, BufferRange];
  let [factor, spare] = others;
  const { epsilon, rounds, polynomial } = muonNumbers;
  const product = (a: BufferRange, b: BufferRange, output: BufferRange) =>
    orthogonal.symmetricProduct(side, { a, b, output });
  const dispatches = [...orthogonal.unitTrace({ side, epsilon }, { matrix: gram, inverse })];
  for (let round = 0; round < rounds; round++) {
    const own = round === 0 ? factor : power;
    dispatches.push(...product(gram, gram, own));
    dispatches.push(orthogonal.polynomial({ side, ...polynomial }, { matrix: gram, square: own }));
    if (round > 0) {
      dispatches.push(...product(own, factor, spare));
      [factor, spare] = [spare, factor];
    }
    if (round < rounds - 1) dispatches.push(...product(own, gram, spare), ...product(spare, own, gram));
  }
  return { dispatches, gram, result: factor };
}
