/**
 * How large the numbers of a run are: for each stage the scales of the wires it made of late, the squared norms of its
 * gradients, the norms of its payloads. What one member reports is bounded by what its peers reported.
 *
 * Owns the windows and the references taken from them. A reference is a median, so fewer than half of the reports move it
 * little; of wires, fewer than half of the nodes, however many tasks they do,
 * and none whose audit failed while another's has not. Plain data; refuses values that are not finite: callers have dealt with those.
 */

import { assert } from "../../assert.ts";
import type { WireScale } from "../../codec/wire.ts";
import type { Direction, NodeId } from "../../ids.ts";

export interface NotedWire {
  readonly node: NodeId;
  readonly scale: WireScale;
}

export interface StageScales {
  readonly wires: { readonly forward: NotedWire[]; readonly backward: NotedWire[] }; // of accepted results
  readonly gradientSquares: number[]; // of closed steps: the reference of each
  readonly payloadNorms: number[]; // of merged rounds: the reference of each, as a share of the longest step
}

export interface ScaleBook {
  readonly stages: readonly StageScales[];
  readonly distrusted: Set<NodeId>; // whose newest audit failed: what others send is not measured by their wires
}

const wiresRemembered = 64;
const wiresOfNode = 8; // of these: who computes nothing is quick, and has no more to say for that
const stepsRemembered = 16;
const roundsRemembered = 8;

export function openScaleBook(stages: number): ScaleBook {
  const none = (): StageScales => ({ wires: { forward: [], backward: [] }, gradientSquares: [], payloadNorms: [] });
  return { stages: Array.from({ length: stages }, none), distrusted: new Set() };
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

export function wiresOf({ wires }: StageScales, direction: Direction): NotedWire[] {
  return direction === "forward" ? wires.forward : wires.backward;
}

export function noteWire(scales: StageScales, { direction, wire }: { direction: Direction; wire: NotedWire }): void {
  const window = wiresOf(scales, direction);
  const own = window.filter(({ node }) => node === wire.node);
  const oldest = own.length < wiresOfNode ? undefined : own[0];
  if (oldest !== undefined) window.splice(window.indexOf(oldest), 1);
  remember(window, { value: wire, most: wiresRemembered });
}

/** A majority could move the reference as it likes; a repetition does not care how many they are. */
export function noteVerdict({ distrusted }: ScaleBook, { node, passed }: { node: NodeId; passed: boolean }): void {
  if (passed) distrusted.delete(node);
  else distrusted.add(node);
}

/** Those of members whose audits do not speak against them; all where there are no others. */
export function trustedWires({ distrusted }: ScaleBook, wires: readonly NotedWire[]): readonly NotedWire[] {
  if (distrusted.size === 0) return wires;
  const trusted = wires.filter(({ node }) => !distrusted.has(node));
  return trusted.length === 0 ? wires : trusted;
}

/** By one measure, the two middle ones of what each node's wires are like; of two nodes, both. */
export function middleWires(wires: readonly NotedWire[], measure: keyof WireScale): { lower: number; upper: number } {
  const byNode = new Map<NodeId, number[]>();
  for (const { node, scale } of wires) byNode.set(node, [...byNode.get(node) ?? [], scale[measure]]);
  const medians = [...byNode.values()].map((own) => lowerMedian(own) ?? 0).sort((a, b) => a - b);
  return { lower: medians[(medians.length - 1) >> 1] ?? 0, upper: medians[medians.length >> 1] ?? 0 };
}

export function noteGradient(scales: StageScales, square: number): void {
  remember(scales.gradientSquares, { value: square, most: stepsRemembered });
}

export function notePayload(scales: StageScales, norm: number): void {
  remember(scales.payloadNorms, { value: norm, most: roundsRemembered });
}

function remember<T extends number | NotedWire>(window: T[], { value, most }: { value: T; most: number }): void {
  const scale = typeof value === "number" ? value : value.scale.largest;
  assert(Number.isFinite(scale), `Cannot remember a scale as it must be finite: current value is ${scale}`);
  window.push(value);
  if (window.length > most) window.shift();
}
