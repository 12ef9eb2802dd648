/**
 * The typical magnitudes of each stage's recent wires, gradients and payloads. They bound one member's reports by its
 * peers'.
 *
 * A reference is a median, so fewer than half of the reports move it little; for wires, fewer than half of the nodes,
 * however many tasks they do, without those that two validators (or the only one) found wrong. Plain data. Callers
 * handle non-finite values.
 */

import { lowerMedian } from "../../lower_median.ts";
import { assert } from "../../assert.ts";
import type { WireScale } from "../../codec/wire.ts";
import type { Direction, NodeId } from "../../ids.ts";

interface NotedWire {
  readonly node: NodeId;
  readonly scale: WireScale;
}

export interface StageScales {
  readonly wires: { readonly forward: NotedWire[]; readonly backward: NotedWire[] }; // of accepted results
  readonly gradientSquares: number[]; // references of closed steps
  readonly payloadNorms: number[]; // references of merged rounds, as a share of the longest step
  payloadReach: number; // the newest one's sum of learning rates; 0 before it
}

export interface ScaleBook {
  readonly stages: readonly StageScales[];
  readonly failedBy: Map<NodeId, Set<NodeId>>; // by miner: validators whose newest audit of it failed
}

const wiresRemembered = 64;
const wiresOfNode = 8; // of these, so that a fast node gets no more weight
const stepsRemembered = 16;
const roundsRemembered = 8;

export function openScaleBook(stages: number): ScaleBook {
  const none = (): StageScales => ({
    wires: { forward: [], backward: [] },
    ...{ gradientSquares: [], payloadNorms: [], payloadReach: 0 },
  });
  return { stages: Array.from({ length: stages }, none), failedBy: new Map() };
}

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

/** Unlike a reference, an audit's outcome does not depend on a majority's numbers. */
export function noteVerdict(
  { failedBy }: ScaleBook,
  { miner, validator, passed }: { miner: NodeId; validator: NodeId; passed: boolean },
): void {
  const failing = failedBy.get(miner) ?? new Set();
  if (passed) failing.delete(validator);
  else failing.add(validator);
  if (failing.size > 0) failedBy.set(miner, failing);
  else failedBy.delete(miner);
}

const wordsNeeded = 2; // with one, a validator could leave its accomplice's wires as the only reference

/** All wires if no member is trusted. */
export function trustedWires(
  { failedBy }: ScaleBook,
  { wires, validators }: { wires: readonly NotedWire[]; validators: ReadonlySet<NodeId> }, // connected
): readonly NotedWire[] {
  if (failedBy.size === 0) return wires;
  const needed = Math.min(wordsNeeded, Math.max(1, validators.size));
  const words = (node: NodeId) => [...failedBy.get(node) ?? []].filter((validator) => validators.has(validator)).length;
  const trusted = wires.filter(({ node }) => words(node) < needed);
  return trusted.length === 0 ? wires : trusted;
}

/** The two middle values of the nodes' medians; with two nodes, both. */
export function middleWires(wires: readonly NotedWire[], measure: keyof WireScale): { lower: number; upper: number } {
  const byNode = new Map<NodeId, number[]>();
  for (const { node, scale } of wires) byNode.set(node, [...byNode.get(node) ?? [], scale[measure]]);
  const medians = [...byNode.values()].map((own) => lowerMedian(own) ?? 0).sort((a, b) => a - b);
  return { lower: medians[(medians.length - 1) >> 1] ?? 0, upper: medians[medians.length >> 1] ?? 0 };
}

export function noteGradient(scales: StageScales, square: number): void {
  remember(scales.gradientSquares, { value: square, most: stepsRemembered });
}

export function notePayload(scales: StageScales, { middle, reach }: { middle: number; reach: number }): void {
  remember(scales.payloadNorms, { value: middle, most: roundsRemembered });
  scales.payloadReach = reach;
}

function remember<T extends number | NotedWire>(window: T[], { value, most }: { value: T; most: number }): void {
  const scale = typeof value === "number" ? value : value.scale.largest;
  assert(Number.isFinite(scale), `a scale is finite, and this one is ${scale}`);
  window.push(value);
  if (window.length > most) window.shift();
}
