/** SiLU(x) = x * sigmoid(x), and SwiGLU's product SiLU(gate) * up. Elementwise; the projections happen outside. */

function sigmoid(x: number): number {
  return 1 / (1 + Math.exp(-x));
}

function siluSlope(x: number): number {
  const s = sigmoid(x);
  return s * (1 + x * (1 - s));
}

export function silu(x: Float64Array): Float64Array {
  return x.map((value) => value * sigmoid(value));
}

export function siluBackward({ x, dy }: { x: Float64Array; dy: Float64Array }): Float64Array {
  return dy.map((g, i) => g * siluSlope(x[i]!));
}

export interface SwigluOperands {
  readonly gate: Float64Array; // (N, F)
  readonly up: Float64Array; // (N, F)
}

/** (N, F) */
export function swiglu({ gate, up }: SwigluOperands): Float64Array {
  return gate.map((value, i) => value * sigmoid(value) * up[i]!);
}

export interface SwigluGradients extends SwigluOperands {
  readonly dy: Float64Array; // (N, F)
}

export function swigluBackward({ gate, up, dy }: SwigluGradients): { dGate: Float64Array; dUp: Float64Array } {
  const dGate = dy.map((g, i) => g * siluSlope(gate[i]!) * up[i]!);
  const dUp = dy.map((g, i) => g * gate[i]! * sigmoid(gate[i]!));
  return { dGate, dUp };
}
