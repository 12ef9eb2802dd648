/**
 * Muon's operations besides stage_ops.ts. Matrices are f32, row-major, with sides that are multiples of 4. Every sum
 * has a fixed order.
 */

import type { BufferRange, Dispatch } from "../stage_ops.ts";

export interface MatrixSizes {
  readonly rows: number;
  readonly columns: number;
}

export interface Polynomial {
  readonly a: number;
  readonly b: number;
  readonly c: number;
}

export const numbersLength = 4; // floats: gradient scale, rate, decay, one unused

export interface OrthogonalOps {
  /** momentum = decay momentum + s gradient; direction = s gradient + decay momentum; gradient = 0. s: gradientScale */
  nesterov(
    sizes: { readonly count: number; readonly decay: number },
    tensors: { gradient: BufferRange; momentum: BufferRange; direction: BufferRange; numbers: BufferRange },
  ): Dispatch;
  /** output (n, n) = X Xᵀ of a wide matrix, Xᵀ X of a tall one; n is the shorter side. */
  gram(sizes: MatrixSizes, tensors: { matrix: BufferRange; output: BufferRange }): Dispatch[];
  /** output = a bᵀ, all (side, side), known to be symmetric: one half suffices. */
  symmetricProduct(side: number, tensors: { a: BufferRange; b: BufferRange; output: BufferRange }): Dispatch[];
  /** inverse (1) = 1 / (sqrt(trace) + epsilon) of the matrix (side, side), which is then multiplied by its square. */
  unitTrace(
    sizes: { readonly side: number; readonly epsilon: number },
    tensors: { matrix: BufferRange; inverse: BufferRange },
  ): Dispatch[];
  /** square = a I + b matrix + c square, (side, side). */
  polynomial(
    sizes: Polynomial & { readonly side: number },
    tensors: { matrix: BufferRange; square: BufferRange },
  ): Dispatch;
  /** parameters = (1 - decay) parameters - rate scale inverse change. */
  descend(
    sizes: { readonly count: number; readonly scale: number },
    tensors: { parameters: BufferRange; change: BufferRange; inverse: BufferRange; numbers: BufferRange },
  ): Dispatch;
}
