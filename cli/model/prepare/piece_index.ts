/**
 * Where each piece of the collected text is, and what it says: 16 bytes a piece, read in order.
 *
 * A piece's key is the beginning of a SHA-256 over the run's seed and its text, a document's key follows from those of
 * its pieces. Keys decide what is held out, so equal documents are always on the same side.
 */

import { createHash } from "node:crypto";
import type { Spool } from "./spool.ts";

export type DocumentKey = readonly [high: number, low: number];

export interface IndexedPiece {
  readonly from: number; // in the text
  readonly bytes: number;
  readonly key: DocumentKey;
}

export interface IndexedDocument {
  readonly source: number;
  readonly isRepeated: boolean; // equal to one before it
  readonly key: DocumentKey;
  readonly bytes: number;
  readonly pieces: readonly IndexedPiece[];
}

const encoder = new TextEncoder();
const wordsOfEntry = 4; // bytes; source and flags; key
const entryBytes = 4 * wordsOfEntry;
const endsDocument = 1 << 16;
const repeated = 1 << 17;
const sourceMask = 0xffff;
export const mostSources = sourceMask + 1;
const entriesOfBlock = 65_536;
const mostPieceBytes = 2 ** 18; // pieces.ts cuts at 65,536 characters, of at most 3 bytes

const prefixOf = (seed: number): string => `${seed} `;

function keyOf(prefix: string, text: Uint8Array): DocumentKey {
  const digest = createHash("sha256").update(prefix).update(text).digest();
  return [digest.readUInt32BE(0), digest.readUInt32BE(4)];
}

/** Collects text and index side by side. */
export class PieceWriter {
  readonly #text: Spool;
  readonly #index: Spool;
  readonly #prefix: string;
  readonly #seen: SeenKeys;
  #key: DocumentKey | null = null;
  readonly #words = new Uint32Array(wordsOfEntry);

  constructor({ text, index, seed, seen }: { text: Spool; index: Spool; seed: number; seen: SeenKeys }) {
    this.#text = text;
    this.#index = index;
    this.#prefix = prefixOf(seed);
    this.#seen = seen;
  }

  /** Of the document that the piece ends, whether it repeats another; null: it goes on. */
  add({ text, endsDocument: isLast }: { text: string; endsDocument: boolean }, source: number): {
    bytes: number;
    isRepeated: boolean | null;
  } {
    const bytes = encoder.encode(text);
    const key = keyOf(this.#prefix, bytes);
    this.#key = joined(this.#key, key);
    const isRepeated = isLast ? !this.#seen.add(this.#key) : null;
    if (isLast) this.#key = null;
    this.#text.append(bytes);
    this.#words.set([
      bytes.length,
      source | (isLast ? endsDocument : 0) | (isRepeated === true ? repeated : 0),
      ...key,
    ]);
    this.#index.append(new Uint8Array(this.#words.buffer.slice(0)));
    return { bytes: bytes.length, isRepeated };
  }
}

export function* documentsOf(index: Spool): Generator<IndexedDocument> {
  let pieces: IndexedPiece[] = [];
  let key: DocumentKey | null = null;
  let from = 0;
  let start = 0;
  for (let at = 0; at < index.bytes; at += entriesOfBlock * entryBytes) {
    const words = new Uint32Array(index.read(at, Math.min(index.bytes, at + entriesOfBlock * entryBytes)).buffer);
    for (let i = 0; i < words.length; i += wordsOfEntry) {
      const [bytes, flags, high, low] = [words[i]!, words[i + 1]!, words[i + 2]!, words[i + 3]!];
      pieces.push({ from, bytes, key: [high, low] });
      key = joined(key, [high, low]);
      from += bytes;
      if ((flags & endsDocument) === 0) continue;
      yield { source: flags & sourceMask, isRepeated: (flags & repeated) !== 0, key, bytes: from - start, pieces };
      pieces = [];
      key = null;
      start = from;
    }
  }
}

/** Whether a text and an index that lay on a disk belong together: pieces with their keys, and whole documents. */
export function isIndexOf(
  { text, index }: { text: Spool; index: Spool },
  { seed, sources }: { seed: number; sources: number },
): boolean {
  if (index.bytes % entryBytes !== 0) return false;
  const prefix = prefixOf(seed);
  let end = 0;
  for (const { source, pieces } of documentsOf(index)) {
    if (source >= sources) return false;
    for (const { from, bytes, key: [high, low] } of pieces) {
      end = from + bytes;
      if (bytes > mostPieceBytes || end > text.bytes) return false;
      const found = keyOf(prefix, text.read(from, end));
      if (found[0] !== high || found[1] !== low) return false;
    }
  }
  return end === text.bytes;
}

/** Names the text, in its order. */
export function piecesHash(index: Spool): string {
  const hash = createHash("sha256");
  for (let at = 0; at < index.bytes; at += entriesOfBlock * entryBytes) {
    hash.update(index.read(at, Math.min(index.bytes, at + entriesOfBlock * entryBytes)));
  }
  return hash.digest("hex");
}

const prime = 0x01000193; // FNV's: the pieces' own keys are uniform

function joined(before: DocumentKey | null, [high, low]: DocumentKey): DocumentKey {
  if (before === null) return [high, low];
  return [(Math.imul(before[0], prime) ^ high) >>> 0, (Math.imul(before[1], prime) ^ low) >>> 0];
}

const mostKeys = 2 ** 22; // 64 MiB; documents beyond are not remembered
const mostLoad = 1 / 2;

/** The documents seen so far, by key. Memory is bounded, so of very many documents some repetitions stay. */
export class SeenKeys {
  #slots = new Uint32Array(2 * 4096); // a key of zeros is an empty slot
  #count = 0;

  /** Whether it is new. */
  add([high, low]: DocumentKey): boolean {
    const size = this.#slots.length / 2;
    let at = low & (size - 1);
    for (; this.#slots[2 * at] !== 0 || this.#slots[2 * at + 1] !== 0; at = (at + 1) & (size - 1)) {
      if (this.#slots[2 * at] === high && this.#slots[2 * at + 1] === low) return false;
    }
    if (this.#count === mostKeys) return true;
    this.#slots[2 * at] = high;
    this.#slots[2 * at + 1] = low;
    this.#count++;
    if (this.#count > mostLoad * size && this.#count < mostKeys) this.#grow();
    return true;
  }

  #grow(): void {
    const old = this.#slots;
    this.#slots = new Uint32Array(2 * old.length);
    this.#count = 0;
    for (let i = 0; i < old.length; i += 2) if (old[i] !== 0 || old[i + 1] !== 0) this.add([old[i]!, old[i + 1]!]);
  }
}
