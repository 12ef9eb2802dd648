/**
 * How much each payload counts in a merge, by its shape among its peers': rules that hold whatever numbers one liar among three
 * replicas or more commits.
 *
 * - In no tensor is it more than `mostOfTensor` times as long as the middle of all: up to twice that all of it is scaled down,
 *   beyond it is left out. A length within every other limit that goes into a few hundred norm gains ruins a model.
 * - It goes where the others go, as far as they agree, and never against them; otherwise it is left out. Not of three: there two
 *   liars would make the honest one the odd one out, and drive the stage backwards alone.
 * - It is not far shorter than its work lets expect; otherwise it is left out, or it would only hold the others back.
 *
 * Honest payloads of small models (tests/bench/LOG.md): at most 1.5 times the middle in a tensor, cosines of 0.4 to 0.9 with the
 * others' mean, which agree to 0.35 or more, or less than half of both with sparse payloads. Being left out is no punishment: the
 * pay stays. Of two payloads neither is a majority: nothing is done. Cf. the robust rules in Karimireddy et al., arXiv 2012.10333. Out of scope: bounds that hold for
 * any payload by itself (payload_check.ts), and the weight of work (core/merge/average.ts).
 */

import type { NodeId } from "../../ids.ts";
import { cosineOf, type PayloadShape } from "../../merge/payload_shape.ts";
import { lowerMedian } from "../step/scale_book.ts";

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
const mostOfTensor = 2;
const farAbove = 2; // times that
const leastLength = 1 / 8;
const fewestOthers = 3; // that may judge a direction
/** The least cosine with the others' mean, by how much they agree among each other. A sketch is off by 0.06. */
const leastCosines = [
  { agreement: 0.35, cosine: 0.1 },
  { agreement: 0.2, cosine: -0.2 },
];

/** `sizes`: of the stage's tensors. */
export function countPayloads(payloads: readonly WeighedPayload[], sizes: readonly number[]): Map<NodeId, Counted> {
  const counted = new Map<NodeId, Counted>();
  const isMajority = payloads.length >= fewest;
  const middleWeight = lowerMedian(payloads.map(({ weight }) => weight)) ?? 0;
  const middles = isMajority ? middlesOf(payloads, sizes) : null;
  const middleLength = lowerMedian(payloads.map(({ length }) => length)) ?? 0;
  for (const payload of payloads) {
    const { node, weight, length } = payload;
    const expected = middleLength * Math.min(1, weight / middleWeight);
    const isShort = isMajority && length < leastLength * expected;
    const isAway = isMajority && pointsAway(payload, payloads);
    const scale = middles === null ? 1 : tensorScale(payload, middles);
    counted.set(node, {
      scale: isShort || isAway ? 0 : scale,
      isOdd: scale < 1,
    });
  }
  return counted;
}

/** The middle length of each tensor, at least that of average values; null if shapes are not known. */
function middlesOf(payloads: readonly WeighedPayload[], sizes: readonly number[]): number[] | null {
  const shapes = payloads.flatMap(({ shape }) => shape ?? []);
  if (shapes.length < payloads.length) return null;
  const squares = lowerMedian(shapes.map(({ tensorSquares }) => sum(tensorSquares)))!;
  const values = sum(sizes);
  return sizes.map((size, tensor) => {
    const middle = lowerMedian(shapes.map(({ tensorSquares }) => tensorSquares[tensor]!))!;
    return Math.sqrt(Math.max(middle, squares * size / values));
  });
}

function tensorScale({ shape }: WeighedPayload, middles: readonly number[]): number {
  let scale = 1;
  for (const [tensor, middle] of middles.entries()) {
    const most = mostOfTensor * middle;
    const length = Math.sqrt(shape!.tensorSquares[tensor]!);
    if (length > most) scale = Math.min(scale, length > farAbove * most ? 0 : most / length);
  }
  return scale;
}

function pointsAway({ node, shape }: WeighedPayload, payloads: readonly WeighedPayload[]): boolean {
  const others = payloads.flatMap((other) => other.node === node || other.shape === null ? [] : [other.shape.sketch]);
  if (shape === null || others.length < fewestOthers) return false;
  const directions = others.map(unit);
  const mean = directions[0]!.map((_, i) => sum(directions.map((direction) => direction[i]!)));
  const agreement = agreementOf(directions);
  const least = leastCosines.find((each) => agreement > each.agreement)?.cosine ?? -Infinity;
  return cosineOf(shape.sketch, mean) < least;
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

function unit(sketch: readonly number[]): number[] {
  const length = Math.sqrt(sketch.reduce((sum, value) => sum + value * value, 0));
  return sketch.map((value) => length > 0 ? value / length : 0);
}

/** The middle cosine of all pairs. */
function agreementOf(directions: readonly (readonly number[])[]): number {
  const cosines = directions.flatMap((a, i) => directions.slice(i + 1).map((b) => cosineOf(a, b)));
  return lowerMedian(cosines) ?? 0;
}
