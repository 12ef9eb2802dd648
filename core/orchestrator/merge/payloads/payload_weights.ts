/**
 * How much each payload counts in a merge, by its shape among its peers': rules that hold whatever numbers one liar among three
 * replicas or more commits.
 *
 * - In no tensor, and in no matrix's longest row or column, is it more than `mostOfPart` times as long as the middle of all: up
 *   to twice that all of it is scaled down, beyond it is left out. A length within every other limit that goes into a few
 *   hundred norm gains ruins a model. The middle is one of shares of a payload's length, since most of a stage's replicas may
 *   be short: they came late, or make no way on purpose.
 * - It never outweighs all others together: a fast miner has up to twice their weight, and may have twice their length.
 * - It goes where the others go, as far as they agree, and never against them, as a whole and in each kind of tensor; otherwise
 *   it is left out. Not of three: there two liars would make the honest one the odd one out, and drive the stage backwards alone.
 * - It is not far shorter than its work lets expect; otherwise it is left out, or it would only hold the others back.
 *
 * Honest payloads of small models (tests/bench/LOG.md): at most 1.5 times the middle in a tensor and 1.3 in a longest row or
 * column (sparse: 1.95), cosines of 0.4 to 0.9 with the others' mean, which agree to 0.35 or more, or less than half of both
 * with sparse payloads; of a kind of tensor, cosines of 0.2 or more where the others agree to 0.35. Being left out is no
 * punishment: the pay stays. Of two payloads neither is a majority: nothing is done. Cf. the robust rules in Karimireddy et al.,
 * arXiv 2012.10333. Out of scope: bounds that hold for any payload by itself (payload_check.ts), and the weight of work
 * (core/merge/average.ts).
 */

import type { NodeId } from "../../../ids.ts";
import { cosineOf, partsOf, type PayloadShape } from "../../../merge/payload_shape.ts";
import { lowerMedian } from "../../../lower_median.ts";

export interface WeighedPayload {
  readonly node: NodeId;
  readonly weight: number;
  readonly length: number; // in any unit
  readonly shape: PayloadShape | null; // null: not known
}

export interface Counted {
  readonly scale: number; // 0: left out
  readonly isOdd: boolean; // far longer in a tensor than its peers
}

const fewest = 3; // payloads that have a middle
const mostOfPart = 2;
const farAbove = 2; // times that
const leastUsual = 1 / 2; // of the stage's usual length: below that the middle one is not the measure
const leastLength = 1 / 8;
const fewestOthers = 3; // that may judge a direction
const leastShare = 1 / 64; // of a squared length: sparse payloads have single values of a kind with less

/** The least cosines with the others' mean, by how much they agree among each other. A sketch is off by 0.06. */
const leastCosines = {
  whole: [{ agreement: 0.35, cosine: 0.1 }, { agreement: 0.2, cosine: -0.2 }],
  kind: [{ agreement: 0.5, cosine: 0.1 }, { agreement: 0.35, cosine: -0.1 }],
};

interface Measures {
  readonly sizes: readonly number[]; // of the stage's tensors
  readonly peakSizes: readonly number[]; // core/merge/matrix_peaks.ts
  readonly reference: number; // the stage's usual length, also from its last rounds
}

export function countPayloads(
  payloads: readonly WeighedPayload[],
  measures: Measures,
): Map<NodeId, Counted> {
  const counted = new Map<NodeId, Counted>();
  const isMajority = payloads.length >= fewest;
  const wholeWeight = sum(payloads.map(({ weight }) => weight));
  const middleWeight = lowerMedian(payloads.map(({ weight }) => weight)) ?? 0;
  const shares = isMajority ? middleShares(payloads, measures) : null;
  const { reference } = measures;
  const middleLength = lowerMedian(payloads.map(({ length }) => length)) ?? 0;
  const usual = middleLength >= leastUsual * reference ? middleLength : reference;
  const away = nodesAway(payloads);
  for (const payload of payloads) {
    const { node, weight, length } = payload;
    const expected = middleLength * Math.min(1, weight / middleWeight);
    const isShort = isMajority && length < leastLength * expected;
    const scale = shares === null ? 1 : tensorScale(payload, { shares, usual });
    const most = isMajority ? (wholeWeight - weight) * usual / (weight * length) : 1;
    counted.set(node, {
      scale: isShort || away.has(node) ? 0 : most < scale ? most : scale, // NaN of an empty payload bounds nothing
      isOdd: scale < 1,
    });
  }
  return counted;
}

/** Of a payload's length, what the middle one has in each part, at least as average values; null if shapes are not known. */
function middleShares(payloads: readonly WeighedPayload[], { sizes, peakSizes }: Measures): number[] | null {
  const shapes = payloads.flatMap(({ shape }) => shape ?? []);
  if (shapes.length < payloads.length) return null;
  const all = shapes.map(sharesOf).filter((shares) => shares.some((share) => share > 0));
  const values = sum(sizes);
  return [...sizes, ...peakSizes]
    .map((size, part) => Math.max(lowerMedian(all.map((shares) => shares[part]!)) ?? 0, size / values))
    .map(Math.sqrt);
}

/** Of the square of its length: each tensor's share, then each peak's. */
function sharesOf({ tensorSquares, peakSquares }: PayloadShape): number[] {
  const whole = sum(tensorSquares);
  return [...tensorSquares, ...peakSquares].map((square) => whole > 0 ? square / whole : 0);
}

/** A payload that is long in all its parts alike is only scaled down. */
function tensorScale(
  { shape, length }: WeighedPayload,
  { shares, usual }: { shares: readonly number[]; usual: number },
): number {
  const allowed = Math.min(1, mostOfPart * usual / length); // as for its whole length: payload_check.ts
  let scale = 1;
  for (const [part, square] of sharesOf(shape!).entries()) {
    const most = mostOfPart * shares[part]! * usual;
    const own = length * Math.sqrt(square);
    if (own > most) scale = Math.min(scale, allowed * own > farAbove * most ? 0 : most / own);
  }
  return scale;
}

/** Nodes whose payloads do not go where the others' go, as a whole or in a kind of tensor. */
function nodesAway(payloads: readonly WeighedPayload[]): Set<NodeId> {
  const away = new Set<NodeId>();
  const known = payloads.flatMap(({ node, shape }) => shape === null ? [] : [{ node, sketch: shape.sketch }]);
  if (known.length <= fewestOthers) return away;
  const note = (sketches: readonly (readonly number[])[], least: keyof typeof leastCosines) => {
    const cosines = sketches.map((a) => sketches.map((b) => cosineOf(a, b)));
    for (const [i, { node }] of known.entries()) if (pointsAway(cosines, { i, least })) away.add(node);
  };
  note(known.map(({ sketch }) => sketch), "whole");
  const parts = known.map(({ sketch }) => partsOf(sketch));
  for (const kind of parts[0]!.keys()) {
    const ofKind = parts.map((sketch) => sketch[kind]!);
    const shares = ofKind.map((part, i) => squareOf(part) / Math.max(squareOf(known[i]!.sketch), Number.MIN_VALUE));
    if ((lowerMedian(shares) ?? 0) >= leastShare) note(ofKind, "kind");
  }
  return away;
}

/** By the cosines of all pairs. */
function pointsAway(
  cosines: readonly (readonly number[])[],
  { i, least }: { i: number; least: keyof typeof leastCosines },
): boolean {
  if (least === "kind" && cosines[i]![i] === 0) return false; // it has nothing there
  const others = cosines.filter((_, j) => j !== i).map((row) => row.filter((_, j) => j !== i));
  const agreement = lowerMedian(others.flatMap((row, j) => row.slice(j + 1))) ?? 0; // the middle one of all pairs
  const meanLength = Math.sqrt(sum(others.map(sum)));
  const toMean = meanLength > 0 ? sum(cosines[i]!.filter((_, j) => j !== i)) / meanLength : 0;
  return toMean < (leastCosines[least].find((each) => agreement > each.agreement)?.cosine ?? -Infinity);
}

const squareOf = (values: readonly number[]): number => values.reduce((total, value) => total + value * value, 0);
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
