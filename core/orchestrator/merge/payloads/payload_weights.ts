/**
 * How much each payload counts in a merge, by its shape among its peers'. The rules hold whatever one dishonest miner
 * among three replicas or more commits.
 *
 * - In no tensor, and in no matrix's longest row or column, is it more than `mostOfPart` times as long as the median:
 *   up to twice that, all of it is scaled down; beyond it, it is left out. A usual length in a few hundred norm gains
 *   ruins a model. The median is over shares of a payload's length, since most replicas may be short: late, or idle on
 *   purpose.
 * - It never outweighs all others together: a fast miner has up to twice their weight, and may have twice their length.
 * - It does not point away from the others if they agree (directions.ts), nor is it far shorter than its work suggests:
 *   otherwise it is left out.
 *
 * Honest payloads of small models (tests/lab/LOG.md) have at most 1.5 times the median in a tensor and 1.3 in a longest
 * row or column (sparse: 1.95). Being left out costs no pay and raises no suspicion, because half of the replicas can
 * make the others look like outliers. Two payloads have no majority: nothing is done. Cf. the robust rules in
 * Karimireddy et al., arXiv 2012.10333.
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
  readonly length: number;
  readonly shape: PayloadShape | null;
  readonly trail: Trail | null; // of codecs with a residual
}

const fewest = 3; // payloads with a median
const mostOfPart = 2;
const farAbove = 2; // times that bound
const leastUsual = 1 / 2; // of the stage's usual length; below that the median is not a reference
const leastLength = 1 / 8;
const ofChance = 3; // standard deviations of a part's number of values

interface Measures {
  readonly sizes: readonly number[];
  readonly peakSizes: readonly number[]; // core/update/matrix_peaks.ts
  readonly reference: number; // also from the stage's last rounds
  readonly density: number; // share of a payload's values that are not zero
}

/** 0: left out. */
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
    counted.set(node, isShort || away.has(node) ? 0 : most < scale ? most : scale); // NaN bounds nothing
  }
  return counted;
}

const directionsOf = (payloads: readonly WeighedPayload[]): Direction[] =>
  payloads.flatMap(({ node, shape }) => shape === null ? [] : [{ node, sketch: shape.sketch, isYoung: false }]);

const trailsOf = (payloads: readonly WeighedPayload[]): Direction[] =>
  payloads.flatMap(({ node, trail }) =>
    trail === null ? [] : [{ node, sketch: trail.sketch, isYoung: trail.rounds < youngRounds }]
  );

/** At least the share of average values; null: a shape is unknown. */
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

/** The factor that chance alone may add in a part of few values. */
const chanceIn = (size: number, density: number): number =>
  density === 1 ? 1 : 1 + ofChance / Math.sqrt(Math.max(1, size * density));

/** Of its squared length: each tensor's, then each peak's. */
function sharesOf({ tensorSquares, peakSquares }: PayloadShape): number[] {
  const whole = sum(tensorSquares);
  return [...tensorSquares, ...peakSquares].map((square) => whole > 0 ? square / whole : 0);
}

function tensorScale(
  { shape, length }: WeighedPayload,
  { shares, usual }: { shares: readonly number[]; usual: number },
): number {
  const allowed = Math.min(1, mostOfPart * usual / length);
  let scale = 1;
  for (const [part, square] of sharesOf(shape!).entries()) {
    const most = mostOfPart * shares[part]! * usual;
    const own = length * Math.sqrt(square);
    if (own > most) scale = Math.min(scale, allowed * own > farAbove * most ? 0 : most / own);
  }
  return scale;
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
