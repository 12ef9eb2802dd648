/**
 * Trains a byte-level BPE from word counts (Sennrich et al. 2016; bytes as in GPT-2). The most frequent pair is merged
 * first, ties go to the smaller (left, right).
 *
 * A byte sequence is merged the same way wherever it occurs, so tokens are unique and a merge never ranks before its
 * parts (bpe.ts relies on that).
 */

import { assert, present } from "../assert.ts";
import { type Before, heapPop, heapPush } from "../heap.ts";
import { type BpeModel, byteTokens, pairKey, pairLeft, pairRight } from "./bpe_model.ts";

interface Word {
  ids: number[];
  readonly count: number;
}

/** A pair to merge, in a heap. Counts only fall, so stale entries are corrected at the top. */
interface Entry {
  readonly pair: number;
  readonly count: number;
}

const isMergedFirst: Before<Entry> = (a, b) => a.count > b.count || (a.count === b.count && a.pair < b.pair);

/** Words that may hold a pair. */
class PairIndex {
  readonly counts = new Map<number, number>();
  readonly words = new Map<number, Set<Word>>();

  add(word: Word): void {
    this.#each(word.ids, (pair) => {
      this.counts.set(pair, (this.counts.get(pair) ?? 0) + word.count);
      let words = this.words.get(pair);
      if (words === undefined) this.words.set(pair, words = new Set());
      words.add(word);
    });
  }

  remove(word: Word): void {
    this.#each(word.ids, (pair) => {
      const left = present(this.counts.get(pair), "A pair of a word must be counted") - word.count;
      if (left > 0) this.counts.set(pair, left);
      else this.counts.delete(pair);
    });
  }

  #each(ids: readonly number[], visit: (pair: number) => void): void {
    for (let i = 1; i < ids.length; i++) visit(pairKey(ids[i - 1]!, ids[i]!));
  }
}

/** `vocabSize` counts bytes, merges and `<|endoftext|>`; a text with few pairs yields a smaller one. */
export function trainBpe(options: { wordCounts: ReadonlyMap<string, number>; vocabSize: number }): BpeModel {
  const { vocabSize } = options;
  assert(
    vocabSize > byteTokens,
    `A vocabulary holds at least 256 bytes and one special token, and this one has ${vocabSize}`,
  );
  const encoder = new TextEncoder();
  const index = new PairIndex();
  for (const [text, count] of options.wordCounts) index.add({ ids: [...encoder.encode(text)], count });
  const queue: Entry[] = [];
  for (const [pair, count] of index.counts) heapPush(queue, { pair, count }, isMergedFirst);

  const merges: [number, number][] = [];
  while (merges.length < vocabSize - byteTokens - 1) {
    const best = heapPop(queue, isMergedFirst);
    if (best === undefined) break; // every word is one token
    const count = index.counts.get(best.pair) ?? 0;
    if (count !== best.count) {
      if (count > 0) heapPush(queue, { pair: best.pair, count }, isMergedFirst);
      continue;
    }
    const merged = byteTokens + merges.length;
    merges.push([pairLeft(best.pair), pairRight(best.pair)]);
    applyMerge({ index, queue, pair: best.pair, merged });
  }
  return { merges };
}

function applyMerge(options: { index: PairIndex; queue: Entry[]; pair: number; merged: number }): void {
  const { index, queue, pair, merged } = options;
  const touched = new Set<number>();
  for (const word of index.words.get(pair) ?? []) {
    const ids = mergePair(word.ids, { pair, merged });
    if (ids.length === word.ids.length) continue; // already taken apart
    index.remove(word);
    word.ids = ids;
    index.add(word);
    for (let i = 1; i < ids.length; i++) {
      const [left, right] = [ids[i - 1]!, ids[i]!];
      if (left === merged || right === merged) touched.add(pairKey(left, right));
    }
  }
  index.words.delete(pair);
  for (const created of touched) {
    const count = present(index.counts.get(created), "A created pair must be counted");
    heapPush(queue, { pair: created, count }, isMergedFirst);
  }
}

function mergePair(ids: readonly number[], merge: { pair: number; merged: number }): number[] {
  const [left, right] = [pairLeft(merge.pair), pairRight(merge.pair)];
  const out: number[] = [];
  for (let i = 0; i < ids.length; i++) {
    if (ids[i] === left && ids[i + 1] === right) {
      out.push(merge.merged);
      i++;
    } else out.push(ids[i]!);
  }
  return out;
}
