/**
 * Finds payloads whose direction differs from the others', if those agree, as a whole and in each kind of tensor.
 *
 * Among three, two dishonest ones would make the honest one the outlier. Honest payloads of small models
 * (tests/lab/LOG.md) have cosines of 0.4 to 0.9 with the others' mean, which agree to 0.35 or more, or less than half
 * of both if sparse; for one kind of tensor 0.2 or more where the others agree to 0.35. A sketch is off by 0.06.
 */

import type { NodeId } from "../../../ids.ts";
import { lowerMedian } from "../../../lower_median.ts";
import { cosineOf, partsOf } from "../../../update/payload_shape.ts";

export interface Direction {
  readonly node: NodeId;
  readonly sketch: readonly number[];
  readonly isYoung: boolean; // covers too few rounds to agree with the others
}

const fewestOthers = 3; // that may judge a direction
const leastShare = 1 / 64; // of a squared length: sparse payloads have single values with less
const leastOfYoung = -0.2;

/** Least cosines with the others' mean, by their agreement. */
const leastCosines = {
  whole: [{ agreement: 0.35, cosine: 0.1 }, { agreement: 0.2, cosine: -0.2 }],
  kind: [{ agreement: 0.5, cosine: 0.1 }, { agreement: 0.35, cosine: -0.1 }],
};

type Measure = keyof typeof leastCosines;

export function nodesAway(directions: readonly Direction[]): Set<NodeId> {
  const away = new Set<NodeId>();
  if (directions.length <= fewestOthers) return away;
  const note = (sketches: readonly (readonly number[])[], least: Measure) => {
    const cosines = sketches.map((a) => sketches.map((b) => cosineOf(a, b)));
    for (const [i, { node, isYoung }] of directions.entries()) {
      if (pointsAway(cosines, { i, least, isYoung })) away.add(node);
    }
  };
  note(directions.map(({ sketch }) => sketch), "whole");
  const parts = directions.map(({ sketch }) => partsOf(sketch));
  for (const kind of parts[0]!.keys()) {
    const ofKind = parts.map((sketch) => sketch[kind]!);
    const shares = ofKind.map((part, i) =>
      squareOf(part) / Math.max(squareOf(directions[i]!.sketch), Number.MIN_VALUE)
    );
    if ((lowerMedian(shares) ?? 0) >= leastShare) note(ofKind, "kind");
  }
  return away;
}

/** `cosines`: of all pairs. */
function pointsAway(
  cosines: readonly (readonly number[])[],
  { i, least, isYoung }: { i: number; least: Measure; isYoung: boolean },
): boolean {
  if (least === "kind" && cosines[i]![i] === 0) return false; // it has nothing there
  const others = cosines.filter((_, j) => j !== i).map((row) => row.filter((_, j) => j !== i));
  const agreement = lowerMedian(others.flatMap((row, j) => row.slice(j + 1))) ?? 0;
  const meanLength = Math.sqrt(sum(others.map(sum)));
  const toMean = meanLength > 0 ? sum(cosines[i]!.filter((_, j) => j !== i)) / meanLength : 0;
  const cosine = leastCosines[least].find((each) => agreement > each.agreement)?.cosine ?? -Infinity;
  return toMean < (isYoung ? Math.min(cosine, leastOfYoung) : cosine);
}

const squareOf = (values: readonly number[]): number => values.reduce((total, value) => total + value * value, 0);
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
