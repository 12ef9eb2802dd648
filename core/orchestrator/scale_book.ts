/**
 * How large the numbers of a run are: for each stage the largest values of the wires it made of late, the squared norms of its
 * gradients, the norms of its payloads. What one member reports is bounded by what its peers reported.
 *
 * Owns the windows and the references taken from them. A reference is a median, so fewer than half of the reports move it
 * little. Plain data; refuses values that are not finite: callers have dealt with those.
 */

import { assert } from "../assert.ts";
import type { Direction } from "../ids.ts";

export interface StageScales {
  readonly wires: { readonly forward: number[]; readonly backward: number[] }; // largest values of accepted wires
  readonly gradientSquares: number[]; // of closed steps: the reference of each
  readonly payloadNorms: number[]; // of merged rounds: the reference of each, as a share of the longest step
}

export interface ScaleBook {
  readonly stages: readonly StageScales[];
}

const wiresRemembered = 32;
const stepsRemembered = 16;
const roundsRemembered = 8;

export function openScaleBook(stages: number): ScaleBook {
  const none = (): StageScales => ({ wires: { forward: [], backward: [] }, gradientSquares: [], payloadNorms: [] });
  return { stages: Array.from({ length: stages }, none) };
}

/** The lower of the two middle values: with two reports the smaller one; null without any. */
export function lowerMedian(values: readonly number[]): number | null {
  if (values.length === 0) return null;
  return values.toSorted((a, b) => a - b)[(values.length - 1) >> 1]!;
}

/** The larger of the references there are; null without any. */
export function largestOf(references: readonly (number | null)[]): number | null {
  let largest: number | null = null;
  for (const reference of references) {
    if (reference !== null && (largest === null || reference > largest)) largest = reference;
  }
  return largest;
}

export function wiresOf({ wires }: StageScales, direction: Direction): number[] {
  return direction === "forward" ? wires.forward : wires.backward;
}

export function noteWire(scales: StageScales, { direction, largest }: { direction: Direction; largest: number }): void {
  remember(wiresOf(scales, direction), { value: largest, most: wiresRemembered });
}

export function noteGradient(scales: StageScales, square: number): void {
  remember(scales.gradientSquares, { value: square, most: stepsRemembered });
}

export function notePayload(scales: StageScales, norm: number): void {
  remember(scales.payloadNorms, { value: norm, most: roundsRemembered });
}

function remember(window: number[], { value, most }: { value: number; most: number }): void {
  assert(Number.isFinite(value), `Cannot remember a scale as it must be finite: current value is ${value}`);
  window.push(value);
  if (window.length > most) window.shift();
}
