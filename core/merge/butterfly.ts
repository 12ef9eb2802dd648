/**
 * Who reduces what in a merge: the butterfly all-reduce with every slice computed twice.
 *
 * A stage's vector is cut into slices, each slice goes to two different miners, and every pair of miners shares slices, so one
 * liar disagrees with everybody. Traffic per miner does not grow with the number of miners.
 * Invariants: slices are multiples of 64 floats (as every tensor is), in order, without gap or overlap; reducers of a slice
 * differ; the numbers of slices two miners reduce differ by at most one. All choices come from the given stream.
 */

import { assert } from "../assert.ts";
import { shuffle, type Stream } from "../prng.ts";
import type { Slice } from "../protocol/message.ts";

/** Indices into the merge's ordered list of contributors. */
export type ReducerPair = readonly [number, number];

export interface SliceLayoutOptions {
  readonly length: number; // floats of the stage's vector
  readonly contributors: number; // miners whose payloads count
  readonly minFloats?: number; // a smaller slice is not worth its message; default 64
  readonly maxFloats?: number; // what a reducer holds per contributor; default `maxSliceFloats` (64 MiB)
}

/** Slices begin and end at multiples of this, as every tensor does. */
export const alignFloats = 64;

/** Every payload names every slice; above 23 miners not each pair shares one in each merge. */
const mostSlices = 256;
const maxSliceFloats = 2 ** 24; // 64 MiB

/** More slices than this no layout of such a vector has, however many contribute. */
export function mostSlicesOf(length: number): number {
  return Math.min(Math.ceil(length / alignFloats), mostSlices + Math.ceil(length / maxSliceFloats));
}

/**
 * Slices for `contributors` miners: one for every pair up to `mostSlices`, or a multiple of that when they would be larger than
 * `maxFloats`, or as many as `minFloats` allows when the vector is too short for all. Sizes differ by 64 floats at most.
 */
export function sliceLayout(options: SliceLayoutOptions): Slice[] {
  const { length, contributors, minFloats = alignFloats, maxFloats = maxSliceFloats } = options;
  assert(
    length > 0 && length % alignFloats === 0,
    `Cannot cut a vector as its length must be a positive multiple of ${alignFloats}: current value is ${length}`,
  );
  assert(contributors >= 1, `Cannot cut a vector as a merge needs a contributor: current value is ${contributors}`);
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
 * The two reducers of every slice. Every pair gets its share in a secret order; slices beyond a multiple of the number of
 * pairs go to whoever has least. Two miners reduce everything both; one miner has nothing to reduce and gets an empty list.
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

/**
 * Fewer pairs than there are: each slice takes the miner with the least load and, of the least loaded others, the one it has
 * shared least with. Two of the smallest loads grow at a time, so loads never differ by more than one.
 */
function evenPairs({ count, miners, stream }: { count: number; miners: number; stream: Stream }): ReducerPair[] {
  const order = shuffle(stream, Array.from({ length: miners }, (_, miner) => miner));
  const loads = new Array<number>(miners).fill(0);
  const shared = new Map<string, number>();
  const key = (a: number, b: number) => a < b ? `${a},${b}` : `${b},${a}`;
  const pairs: ReducerPair[] = [];
  for (let slice = 0; slice < count; slice++) {
    if (2 * slice + 1 < miners) { // the first ones have no load yet
      const [a, b] = [order[2 * slice]!, order[2 * slice + 1]!];
      loads[a] = loads[b] = 1;
      shared.set(key(a, b), 1);
      pairs.push(a < b ? [a, b] : [b, a]);
      continue;
    }
    const a = least(order, (miner) => [loads[miner]!, 0]);
    const b = least(order.filter((miner) => miner !== a), (miner) => [loads[miner]!, shared.get(key(a, miner)) ?? 0]);
    loads[a]! += 1;
    loads[b]! += 1;
    shared.set(key(a, b), (shared.get(key(a, b)) ?? 0) + 1);
    pairs.push(a < b ? [a, b] : [b, a]);
  }
  return pairs;
}

/** The first of the miners with the smallest rank; ranks compare by their first number, then by the second. */
function least(miners: readonly number[], rank: (miner: number) => readonly [number, number]): number {
  return miners.reduce((best, miner) => {
    const [load, share] = rank(miner);
    const [bestLoad, bestShare] = rank(best);
    return load < bestLoad || (load === bestLoad && share < bestShare) ? miner : best;
  });
}
