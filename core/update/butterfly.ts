/**
 * Which miner reduces which slice in a merge: butterfly all-reduce with every slice computed twice.
 *
 * A stage's vector is cut into slices, and each slice goes to two different miners. Every pair of miners shares slices
 * if there are enough of them, so a single cheat disagrees with everybody; the slice counts of two pairs differ by at
 * most one. Traffic per miner does not grow with the number of miners. Invariants: slices are multiples of 64 floats
 * (as every tensor is), in order, without gap or overlap; reducers of a slice differ; the slice counts of any two
 * miners differ by at most one. All choices come from the given stream.
 */

import { assert } from "../assert.ts";
import { shuffle, type Stream } from "../prng.ts";
import type { Slice } from "../protocol/merge_messages.ts";

/** Indices into the merge's ordered list of contributors. */
export type ReducerPair = readonly [number, number];

export interface SliceLayoutOptions {
  readonly length: number; // floats of the stage's vector
  readonly contributors: number; // miners whose payloads count
  readonly minFloats?: number; // smaller slices are not worth a message; default 64
  readonly maxFloats?: number; // what a reducer holds per contributor; default `maxSliceFloats` (64 MiB)
}

/** Slices begin and end at multiples of this, as every tensor does. */
export const alignFloats = 64;

/** Every payload names every slice; above 23 miners not every pair shares one in each merge. */
const mostSlices = 256;
const maxSliceFloats = 2 ** 24; // 64 MiB

/** The most slices of any layout of such a vector, for any number of contributors. */
export function mostSlicesOf(length: number): number {
  return Math.min(Math.ceil(length / alignFloats), mostSlices + Math.ceil(length / maxSliceFloats));
}

/**
 * Slices for `contributors` miners: one for every pair up to `mostSlices`, a multiple of that if they would be larger
 * than `maxFloats`, or as many as `minFloats` allows if the vector is too short for all. Sizes differ by 64 floats at
 * most.
 */
export function sliceLayout(options: SliceLayoutOptions): Slice[] {
  const { length, contributors, minFloats = alignFloats, maxFloats = maxSliceFloats } = options;
  assert(
    length > 0 && length % alignFloats === 0,
    `The length of a vector must be a positive multiple of ${alignFloats}, and is ${length}`,
  );
  assert(contributors >= 1, `A merge needs at least one contributor, and has ${contributors}`);
  const blocks = length / alignFloats;
  const pairs = Math.min(mostSlices, Math.max(1, pairCount(contributors)));
  const perPair = Math.ceil(length / (pairs * maxFloats));
  const count = Math.max(1, Math.min(pairs * perPair, Math.floor(length / minFloats), blocks));
  const slices: Slice[] = [];
  for (let index = 0; index < count; index++) {
    const first = Math.floor((index * blocks) / count);
    const end = Math.floor(((index + 1) * blocks) / count);
    slices.push({ offset: first * alignFloats, size: (end - first) * alignFloats });
  }
  return slices;
}

export function pairCount(miners: number): number {
  return (miners * (miners - 1)) / 2;
}

export interface AssignReducersOptions {
  readonly slices: number;
  readonly miners: number;
  readonly stream: Stream;
}

/**
 * The two reducers of every slice. Every pair gets its share in a secret order; slices beyond a multiple of the number
 * of pairs go to pairs that share no miner. With two miners, both reduce everything; a single miner reduces nothing and
 * gets an empty list.
 */
export function assignReducers({ slices, miners, stream }: AssignReducersOptions): ReducerPair[] {
  if (miners < 2) return [];
  const assigned: ReducerPair[] = [];
  const pairs = pairCount(miners);
  while (assigned.length + pairs <= slices) assigned.push(...shuffle(stream, allPairs(miners)));
  assigned.push(...evenPairs({ count: slices - assigned.length, miners, stream }));
  return assigned;
}

function allPairs(miners: number): ReducerPair[] {
  const pairs: ReducerPair[] = [];
  for (let a = 0; a < miners; a++) {
    for (let b = a + 1; b < miners; b++) pairs.push([a, b]);
  }
  return pairs;
}

/** Fewer than all pairs, in a secret order: none twice, and the counts of any two miners differ by at most one. */
function evenPairs({ count, miners, stream }: { count: number; miners: number; stream: Stream }): ReducerPair[] {
  const order = shuffle(stream, Array.from({ length: miners }, (_, miner) => miner));
  const pairs = Array.from({ length: count }, (_, game): ReducerPair => {
    const [first, second] = gameOf(game, miners);
    const [a, b] = [order[first]!, order[second]!];
    return a < b ? [a, b] : [b, a];
  });
  return shuffle(stream, pairs);
}

/**
 * The games of a round-robin tournament, ordered so that the players' game counts never differ by more than one. For an
 * even number of players: days on which all play, with one player fixed while the others rotate. For an odd number:
 * closed walks through all players (Walecki), each walked twice, whose neighbours play each other.
 */
function gameOf(game: number, players: number): readonly [number, number] {
  const others = players - 1; // beside the fixed player, or where walks begin
  if (players % 2 === 0) {
    const [day, table] = divided(game, players / 2);
    return table === 0 ? [others, day] : [(day + table) % others, (day + others - table) % others];
  }
  const [walk, table] = divided(game, players);
  const playerAt = (place: number): number => {
    if (place === 0) return others;
    const away = place % 2 === 0 ? place / 2 : -(place - 1) / 2; // 0, 1, -1, 2, -2, …
    return (walk + away + others) % others;
  };
  return [playerAt((2 * table) % players), playerAt((2 * table + 1) % players)];
}

const divided = (value: number, by: number): readonly [number, number] => [Math.floor(value / by), value % by];
