/**
 * Which miner reduces which slice of a merge: butterfly all-reduce, each slice computed by two miners.
 *
 * Every pair shares slices, if there are enough, so that a single cheat disagrees with everybody. Traffic per miner
 * does not grow with their number. Slices are multiples of 64 floats, without gap or overlap; the slice counts of two
 * miners, or two pairs, differ by at most one.
 */

import { assert } from "../assert.ts";
import { shuffle, type Stream } from "../prng.ts";
import type { Slice } from "../protocol/merge_messages.ts";

/** Indices of contributors in merge order. */
export type ReducerPair = readonly [number, number];

interface SliceLayoutOptions {
  readonly length: number; // floats
  readonly contributors: number;
}

/** Slices begin and end at multiples of this, as tensors do. */
export const alignFloats = 64;

/** Every payload names all; above 23 miners, not every pair shares one. */
const mostSlices = 256;
const maxSliceFloats = 2 ** 24; // 64 MiB

/** Bounds every layout, for any number of contributors. */
export function mostSlicesOf(length: number): number {
  return Math.min(Math.ceil(length / alignFloats), mostSlices + Math.ceil(length / maxSliceFloats));
}

/**
 * One per pair up to `mostSlices`, a multiple of that if they would exceed `maxSliceFloats`, fewer if the vector is
 * short. Sizes differ by at most 64 floats.
 */
export function sliceLayout({ length, contributors }: SliceLayoutOptions): Slice[] {
  assert(
    length > 0 && length % alignFloats === 0,
    `The length of a vector must be a positive multiple of ${alignFloats}, and is ${length}`,
  );
  assert(contributors >= 1, `A merge needs at least one contributor, and has ${contributors}`);
  const blocks = length / alignFloats;
  const pairs = Math.min(mostSlices, Math.max(1, pairCount(contributors)));
  const perPair = Math.ceil(length / (pairs * maxSliceFloats));
  const count = Math.min(pairs * perPair, blocks);
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

interface AssignReducersOptions {
  readonly slices: number;
  readonly miners: number;
  readonly stream: Stream;
}

/**
 * Every pair gets its share in a secret order; remaining slices go to pairs that share no miner. Two miners reduce
 * everything; one miner gets an empty list.
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

/** Fewer than all pairs, in a secret order, none twice; the counts of two miners differ by at most one. */
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
 * The games of a round-robin tournament, ordered so that game counts differ by at most one. Even: days on which all
 * play, one player fixed while the others rotate. Odd: closed walks through all players (Walecki), each walked twice,
 * whose neighbours play.
 */
function gameOf(game: number, players: number): readonly [number, number] {
  const others = players - 1; // the fixed player, or where walks begin
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
