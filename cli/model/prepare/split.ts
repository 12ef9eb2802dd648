/**
 * Which documents train and which are held out.
 *
 * Documents are ordered by their keys. The first ones, up to a share of the text, are held out, the next ones train, up
 * to `maxBytes` in all. A document longer than all that is held out is split by its pieces, so that no single one is
 * most of it. Only sums of bytes by key are kept, so any number of documents can be split.
 */

import { type DocumentKey, documentsOf, type IndexedDocument } from "./piece_index.ts";
import type { Spool } from "./spool.ts";

export type Side = "train" | "heldOut" | "unused";

export interface SplitRule {
  /** Documents longer than this are split by pieces. */
  readonly wholeBytes: number;
  /** Keys below train no more, but are held out; both are counted in bins. */
  readonly heldOutEnd: number;
  readonly trainEnd: number;
}

/** A part of one document that is on one side. */
export interface Part {
  readonly source: number;
  readonly side: Side;
  readonly from: number;
  readonly bytes: number;
  readonly key: DocumentKey; // of the document, or of the part's first piece
  readonly endsDocument: boolean; // or the text that follows is elsewhere
}

const bins = 65_536; // of keys, by their first 16 bits
const binOf = ([high]: DocumentKey): number => high >>> 16;

interface SplitRequest {
  readonly textBytes: number; // repeated documents included
  readonly heldOutFraction: number; // in (0, 1)
  readonly maxBytes: number; // 0 = all
}

/** Null: there is too little to split. */
export function planSplit(index: Spool, { textBytes, heldOutFraction, maxBytes }: SplitRequest): SplitRule | null {
  const wanted = maxBytes > 0 ? Math.min(maxBytes, textBytes) : textBytes;
  const wholeBytes = heldOutFraction * wanted;
  const bytesOfBin = new Float64Array(bins);
  for (const { key, bytes } of unitsOf(index, wholeBytes)) bytesOfBin[binOf(key)]! += bytes;
  const total = Math.min(wanted, bytesOfBin.reduce((sum, bytes) => sum + bytes, 0));
  const filled = bytesOfBin.reduce((count, bytes) => count + (bytes > 0 ? 1 : 0), 0);
  if (filled < 2) return null;
  let used = 0;
  let heldOutEnd = 0;
  while (used < heldOutFraction * total) used += bytesOfBin[heldOutEnd++]!;
  let trainEnd = heldOutEnd;
  for (let hasSome = false; trainEnd < bins; trainEnd++) {
    if (hasSome && used + bytesOfBin[trainEnd]! > total) break;
    used += bytesOfBin[trainEnd]!;
    hasSome ||= bytesOfBin[trainEnd]! > 0;
  }
  return bytesOfBin.subarray(heldOutEnd).some((bytes) => bytes > 0) ? { wholeBytes, heldOutEnd, trainEnd } : null;
}

/** The largest part of the training text below `mostBytes`, chosen by key: what a tokenizer is trained on. */
export function sampleEnd(index: Spool, rule: SplitRule, mostBytes: number): number {
  const bytesOfBin = new Float64Array(bins);
  for (const { side, key, bytes } of partsOf(index, rule)) if (side === "train") bytesOfBin[binOf(key)]! += bytes;
  let end = rule.heldOutEnd;
  for (let used = 0; end < rule.trainEnd; end++) {
    used += bytesOfBin[end]!;
    if (used > mostBytes && used > bytesOfBin[end]!) break;
  }
  return end;
}

export const isSampled = ({ side, key }: Part, end: number): boolean => side === "train" && binOf(key) < end;

/** In the order of the text. Parts of one document that follow each other on one side are one part. */
export function* partsOf(index: Spool, rule: SplitRule): Generator<Part> {
  for (const document of documentsOf(index)) {
    if (document.isRepeated) continue;
    let part = null as Part | null;
    for (const unit of unitsOfDocument(document, rule.wholeBytes)) {
      const side = sideOf(unit.key, rule);
      if (part !== null && part.side === side && part.bytes + unit.bytes <= partBytesLimit) {
        part = { ...part, bytes: part.bytes + unit.bytes };
        continue;
      }
      if (part !== null) yield { ...part, endsDocument: part.side !== side };
      part = { ...unit, source: document.source, side, endsDocument: true };
    }
    if (part !== null) yield part;
  }
}

const partBytesLimit = 2 ** 20; // of a long document: it is encoded in one go

interface Unit {
  readonly from: number;
  readonly bytes: number;
  readonly key: DocumentKey;
}

function* unitsOf(index: Spool, wholeBytes: number): Generator<Unit> {
  for (const document of documentsOf(index)) if (!document.isRepeated) yield* unitsOfDocument(document, wholeBytes);
}

function* unitsOfDocument({ key, bytes, pieces }: IndexedDocument, wholeBytes: number): Generator<Unit> {
  if (bytes > wholeBytes) return yield* pieces;
  if (bytes <= partBytesLimit) return yield { from: pieces[0]!.from, bytes, key };
  for (const piece of pieces) yield { ...piece, key };
}

function sideOf(key: DocumentKey, { heldOutEnd, trainEnd }: SplitRule): Side {
  const bin = binOf(key);
  return bin < heldOutEnd ? "heldOut" : bin < trainEnd ? "train" : "unused";
}
