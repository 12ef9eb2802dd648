/**
 * Linear map without bias: y = x W^T, W stored (outputs, inputs) as Hugging Face stores it.
 *
 * The memory contract of every file in this folder: values are float64; forward returns a new array; backward returns the
 * gradient of its input as a new array and *adds* parameter gradients to the array it is given.
 */

export interface LinearShape {
  readonly rows: number; // N = B * T
  readonly inputs: number; // I
  readonly outputs: number; // O
}

export interface LinearOperands {
  readonly x: Float64Array; // (N, I)
  readonly matrix: Float64Array; // (O, I)
}

/** (N, O) */
export function linear({ x, matrix }: LinearOperands, { rows, inputs, outputs }: LinearShape): Float64Array {
  const y = new Float64Array(rows * outputs);
  for (let n = 0; n < rows; n++) {
    for (let o = 0; o < outputs; o++) {
      let sum = 0;
      for (let i = 0; i < inputs; i++) sum += x[n * inputs + i]! * matrix[o * inputs + i]!;
      y[n * outputs + o] = sum;
    }
  }
  return y;
}

export interface LinearGradients extends LinearOperands {
  readonly dy: Float64Array; // (N, O)
  readonly dMatrix: Float64Array; // (O, I), added to
}

/** dx (N, I); adds dy^T x to `dMatrix`. */
export function linearBackward(
  { x, matrix, dy, dMatrix }: LinearGradients,
  { rows, inputs, outputs }: LinearShape,
): Float64Array {
  const dx = new Float64Array(rows * inputs);
  for (let n = 0; n < rows; n++) {
    for (let o = 0; o < outputs; o++) {
      const g = dy[n * outputs + o]!;
      for (let i = 0; i < inputs; i++) {
        dx[n * inputs + i]! += g * matrix[o * inputs + i]!;
        dMatrix[o * inputs + i]! += g * x[n * inputs + i]!;
      }
    }
  }
  return dx;
}
