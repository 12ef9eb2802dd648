/**
 * Rotary position embedding in Hugging Face's rotate-half convention: channel i of a head is paired with i + hd/2, and the
 * pair turns by position * base^(-2i/hd). With `scaling`, as `_compute_llama3_parameters` of transformers has it: by wavelengths.
 */

import type { RopeScaling } from "../../../core/model/rope.ts";

export interface RopeShape {
  readonly sequences: number; // B
  readonly positions: number; // T
  readonly heads: number;
  readonly headWidth: number; // hd, even
  readonly base: number;
  readonly scaling?: RopeScaling | null;
}

/** Turns (B, T, heads, hd) forward. */
export function rope(x: Float64Array, shape: RopeShape): Float64Array {
  return turn(x, shape, 1);
}

/** A rotation's transpose is the rotation back. */
export function ropeBackward(dy: Float64Array, shape: RopeShape): Float64Array {
  return turn(dy, shape, -1);
}

function turn(x: Float64Array, shape: RopeShape, sign: 1 | -1): Float64Array {
  const { sequences, positions, heads, headWidth } = shape;
  const half = headWidth / 2;
  const y = new Float64Array(x.length);
  for (let t = 0; t < positions; t++) {
    for (let i = 0; i < half; i++) {
      const angle = t * frequencyOf(shape, i);
      const cos = Math.cos(angle);
      const sin = sign * Math.sin(angle);
      for (let b = 0; b < sequences; b++) {
        for (let head = 0; head < heads; head++) {
          const first = ((b * positions + t) * heads + head) * headWidth + i;
          const second = first + half;
          y[first] = x[first]! * cos - x[second]! * sin;
          y[second] = x[second]! * cos + x[first]! * sin;
        }
      }
    }
  }
  return y;
}

function frequencyOf({ base, headWidth, scaling = null }: RopeShape, pair: number): number {
  const frequency = base ** (-2 * pair / headWidth);
  if (scaling === null) return frequency;
  const { factor, low, high, originalContext } = scaling;
  const wavelength = 2 * Math.PI / frequency;
  if (wavelength < originalContext / high) return frequency;
  if (wavelength > originalContext / low) return frequency / factor;
  const smooth = (originalContext / wavelength - low) / (high - low);
  return (1 - smooth) * frequency / factor + smooth * frequency;
}
