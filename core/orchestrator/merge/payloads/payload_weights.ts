/**
 * How much each payload counts in a merge, by its shape among its peers': rules that hold whatever one dishonest miner among
 * three replicas or more commits.
 *
 * - In no tensor, and in no matrix's longest row or column, is it more than `mostOfPart` times as long as the median of all: up
 *   to twice that all of it is scaled down, beyond it is left out. A length within every other limit that goes into a few
 *   hundred norm gains ruins a model. The median is taken over shares of a payload's length, since most of a stage's replicas
 *   may be short: they came late, or make no progress on purpose. Sparse payloads have a few values in a small part, so chance
 *   is allowed for there.
 * - It never outweighs all others together: a fast miner has up to twice their weight, and may have twice their length.
 * - It goes where the others go, if they agree, and never against them, as a whole and in each kind of tensor; otherwise it is
 *   left out (directions.ts). Sparse payloads of several rounds are compared by their accumulated sketches (payload_trails.ts).
 * - It is not far shorter than its work suggests; otherwise it is left out, because it would only slow the others down.
 *
 * Honest payloads of small models (tests/lab/LOG.md): at most 1.5 times the median in a tensor and 1.3 in a longest row or
 * column (sparse: 1.95). Being left out is not a punishment: the pay stays, and nobody is a suspect, because half of the replicas
 * can shape their own payloads so that the others' look like outliers. Of two payloads neither is a majority: nothing is done.
 * Cf. the robust rules in Karimireddy et al., arXiv 2012.10333. Out of scope: bounds that hold for any payload by itself
 * (payload_check.ts), and the weight of work (core/update/average.ts).
 */

import type { NodeId } from "../../../ids.ts";
import type { PayloadShape } from "../../../update/payload_shape.ts";
import { lowerMedian } from "../../../lower_median.ts";
import { type Direction, nodesAway } from "./directions.ts";
import type { Trail } from "../merge_state.ts";
import { youngRounds } from "./payload_trails.ts";

export interface WeighedPayload {
  readonly node: NodeId;
  readonly weight: number;
  readonly length: number; // in any unit
  readonly shape: PayloadShape | null; // null: not known
  readonly trail: Trail | null; // of codecs with a residual
}

const fewest = 3; // payloads that have a middle
const mostOfPart = 2;
const farAbove = 2; // times that
const leastUsual = 1 / 2; // of the stage's usual length: below that the median is not a reference
const leastLength = 1 / 8;
const ofChance = 3; // standard deviations of the number of values in a part

interface Measures {
  readonly sizes: readonly number[]; // of the stage's tensors
  readonly peakSizes: readonly number[]; // core/update/matrix_peaks.ts
  readonly reference: number; // the stage's usual length, also from its last rounds
  readonly density: number; // of the payloads' values, those that are not zero; 1 where none is left out
}

/** The scale of each; 0: left out. */
export function countPayloads(payloads: readonly WeighedPayload[], measures: Measures): Map<NodeId, number> {
  const counted = new Map<NodeId, number>();
  const isMajority = payloads.length >= fewest;
  const wholeWeight = sum(payloads.map(({ weight }) => weight));
  const middleWeight = lowerMedian(payloads.map(({ weight }) => weight)) ?? 0;
  const shares = isMajority ? middleShares(payloads, measures) : null;
  const { reference } = measures;
  const middleLength = lowerMedian(payloads.map(({ length }) => length)) ?? 0;
  const usual = middleLength >= leastUsual * reference ? middleLength : reference;
  const away = new Set([...nodesAway(directionsOf(payloads)), ...nodesAway(trailsOf(payloads))]);
  for (const payload of payloads) {
    const { node, weight, length } = payload;
    const expected = middleLength * Math.min(1, weight / middleWeight);
    const isShort = isMajority && length < leastLength * expected;
    const scale = shares === null ? 1 : tensorScale(payload, { shares, usual });
    const most = isMajority ? (wholeWeight - weight) * usual / (weight * length) : 1;
    counted.set(node, isShort || away.has(node) ? 0 : most < scale ? most : scale); // NaN of an empty payload bounds nothing
  }
  return counted;
}

const directionsOf = (payloads: readonly WeighedPayload[]): Direction[] =>
  payloads.flatMap(({ node, shape }) => shape === null ? [] : [{ node, sketch: shape.sketch, isYoung: false }]);

const trailsOf = (payloads: readonly WeighedPayload[]): Direction[] =>
  payloads.flatMap(({ node, trail }) =>
    trail === null ? [] : [{ node, sketch: trail.sketch, isYoung: trail.rounds < youngRounds }]
  );

/** The median payload's share of length in each part, at least as for average values; null if shapes are not known. */
function middleShares(payloads: readonly WeighedPayload[], { sizes, peakSizes, density }: Measures): number[] | null {
  const shapes = payloads.flatMap(({ shape }) => shape ?? []);
  if (shapes.length < payloads.length) return null;
  const all = shapes.map(sharesOf).filter((shares) => shares.some((share) => share > 0));
  const values = sum(sizes);
  return [...sizes, ...peakSizes]
    .map((size, part) => {
      const middle = Math.max(lowerMedian(all.map((shares) => shares[part]!)) ?? 0, size / values);
      return Math.sqrt(middle * chanceIn(size, density));
    });
}

/** How many times the median share chance alone may put into a part of a few values. */
const chanceIn = (size: number, density: number): number =>
  density === 1 ? 1 : 1 + ofChance / Math.sqrt(Math.max(1, size * density));

/** Shares of its squared length: each tensor's, then each peak's. */
function sharesOf({ tensorSquares, peakSquares }: PayloadShape): number[] {
  const whole = sum(tensorSquares);
  return [...tensorSquares, ...peakSquares].map((square) => whole > 0 ? square / whole : 0);
}

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

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
