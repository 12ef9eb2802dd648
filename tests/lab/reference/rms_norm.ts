/** RMSNorm: y = g * x / sqrt(mean(x^2) + epsilon), per row. */

export interface NormShape {
  readonly rows: number; // N
  readonly width: number; // d
  readonly epsilon: number;
}

export interface NormOperands {
  readonly x: Float64Array; // (N, d)
  readonly gain: Float64Array; // (d)
}

/** 1 / rms of row `n`. */
function inverseRms(x: Float64Array, n: number, { width, epsilon }: NormShape): number {
  let squares = 0;
  for (let c = 0; c < width; c++) squares += x[n * width + c]! ** 2;
  return 1 / Math.sqrt(squares / width + epsilon);
}

/** (N, d) */
export function rmsNorm({ x, gain }: NormOperands, shape: NormShape): Float64Array {
  const { rows, width } = shape;
  const y = new Float64Array(rows * width);
  for (let n = 0; n < rows; n++) {
    const inverse = inverseRms(x, n, shape);
    for (let c = 0; c < width; c++) y[n * width + c] = x[n * width + c]! * inverse * gain[c]!;
  }
  return y;
}

export interface NormGradients extends NormOperands {
  readonly dy: Float64Array; // (N, d)
  readonly dGain: Float64Array; // (d), added to
}

/**
 * dx (N, d). With s = 1/rms and u = g * dy: dx = s * (u - x * s^2 * mean(u * x)), the second term being the path through the
 * rms itself.
 */
export function rmsNormBackward({ x, gain, dy, dGain }: NormGradients, shape: NormShape): Float64Array {
  const { rows, width } = shape;
  const dx = new Float64Array(rows * width);
  for (let n = 0; n < rows; n++) {
    const inverse = inverseRms(x, n, shape);
    let inner = 0;
    for (let c = 0; c < width; c++) {
      const at = n * width + c;
      inner += dy[at]! * gain[c]! * x[at]!;
      dGain[c]! += dy[at]! * x[at]! * inverse;
    }
    const throughRms = inverse ** 2 * inner / width;
    for (let c = 0; c < width; c++) {
      const at = n * width + c;
      dx[at] = inverse * (dy[at]! * gain[c]! - x[at]! * throughRms);
    }
  }
  return dx;
}
