/** Reads inputs once: their documents go into a text, each piece of them into an index. */

import type { TextFormat } from "../inputs/open_input.ts";
import type { Pieces } from "../inputs/pieces.ts";
import { documentsOf, PieceWriter, SeenKeys } from "./piece_index.ts";
import type { Spool } from "./spool.ts";

export interface Source {
  readonly format: TextFormat;
  pieces(onRead: (bytes: number) => void): Pieces;
}

export interface SourceCounts {
  readonly documents: number;
  readonly textBytes: number;
  readonly duplicates: number; // documents that are equal to another
  readonly duplicateBytes: number;
}

export const noCounts: SourceCounts = { documents: 0, textBytes: 0, duplicates: 0, duplicateBytes: 0 };

export const sumOf = (counts: readonly SourceCounts[]): SourceCounts =>
  counts.reduce((sum, each) => ({
    documents: sum.documents + each.documents,
    textBytes: sum.textBytes + each.textBytes,
    duplicates: sum.duplicates + each.duplicates,
    duplicateBytes: sum.duplicateBytes + each.duplicateBytes,
  }), noCounts);

export class Collector {
  readonly #text: Spool;
  readonly #writer: PieceWriter;
  readonly #mostBytes: number;

  /** The spools may hold what was collected before. */
  constructor({ text, index, seed, mostBytes }: { text: Spool; index: Spool; seed: number; mostBytes: number }) {
    const seen = new SeenKeys();
    for (const { key, isRepeated } of documentsOf(index)) if (!isRepeated) seen.add(key);
    this.#text = text;
    this.#writer = new PieceWriter({ text, index, seed, seen });
    this.#mostBytes = mostBytes;
  }

  /** `source`: its number in the index. Returns null where there would be more text than allowed. */
  async add(pieces: Pieces, source: number): Promise<SourceCounts | null> {
    const counts = { ...noCounts };
    let bytesOfDocument = 0;
    for await (const batch of pieces) {
      for (const piece of batch) {
        const { bytes, isRepeated } = this.#writer.add(piece, source);
        bytesOfDocument += bytes;
        if (isRepeated === null) continue;
        counts.documents += 1;
        counts.textBytes += bytesOfDocument;
        if (isRepeated) {
          counts.duplicates += 1;
          counts.duplicateBytes += bytesOfDocument;
        }
        bytesOfDocument = 0;
      }
      if (this.#text.bytes > this.#mostBytes) return null;
    }
    return counts;
  }
}
