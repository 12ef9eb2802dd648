/**
 * Byte-pair merging of one word: the earliest learned merge first, and of equal ones the leftmost. Short words are
 * searched again and again; a long word keeps its pairs in a heap, so that a megabyte without a space takes seconds.
 */

import { heapPop, heapPush } from "../heap.ts";
import type { PairTable } from "./pair_table.ts";

const shortWord = 96; // symbols; about where the heap becomes faster
const none = 0x7fffffff; // rank

export function mergeWord(symbols: readonly number[], pairs: PairTable): number[] {
  if (symbols.length < 2) return [...symbols];
  return symbols.length <= shortWord ? mergeShort([...symbols], pairs) : mergeLong(symbols, pairs);
}

function mergeShort(ids: number[], pairs: PairTable): number[] {
  const rankAt = (i: number): number => {
    if (i < 0 || i + 1 >= ids.length) return none;
    const rank = pairs.rankOf(ids[i]!, ids[i + 1]!);
    return rank < 0 ? none : rank;
  };
  const ranks = ids.map((_, i) => rankAt(i)); // of a symbol and the next
  for (;;) {
    let [best, at] = [none, 0];
    for (let i = 0; i < ranks.length; i++) {
      if (ranks[i]! < best) [best, at] = [ranks[i]!, i];
    }
    if (best === none) return ids;
    ids[at] = pairs.made(best);
    ids.splice(at + 1, 1);
    ranks.splice(at + 1, 1);
    ranks[at] = rankAt(at);
    if (at > 0) ranks[at - 1] = rankAt(at - 1);
  }
}

const places = 2 ** 32; // a word's symbols are fewer, so rank and place are one number that sorts
const isBefore = (a: number, b: number): boolean => a < b;

function mergeLong(symbols: readonly number[], pairs: PairTable): number[] {
  const { length } = symbols;
  const ids = Int32Array.from(symbols); // -1: part of the symbol to its left
  const next = Int32Array.from(symbols, (_, i) => i + 1);
  const previous = Int32Array.from(symbols, (_, i) => i - 1);
  const queue: number[] = [];
  const rankAt = (at: number): number => next[at]! < length ? pairs.rankOf(ids[at]!, ids[next[at]!]!) : -1;
  const offer = (at: number) => {
    const rank = rankAt(at);
    if (rank >= 0) heapPush(queue, rank * places + at, isBefore);
  };
  for (let at = 0; at < length; at++) offer(at);
  for (let entry = heapPop(queue, isBefore); entry !== undefined; entry = heapPop(queue, isBefore)) {
    const at = entry % places;
    const rank = (entry - at) / places;
    if (ids[at] === -1 || rankAt(at) !== rank) continue; // merged otherwise since
    const right = next[at]!;
    ids[at] = pairs.made(rank);
    ids[right] = -1;
    next[at] = next[right]!;
    if (next[at]! < length) previous[next[at]!] = at;
    offer(at);
    if (previous[at]! >= 0) offer(previous[at]!);
  }
  return [...ids.filter((id) => id !== -1)];
}
