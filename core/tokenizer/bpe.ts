/**
 * Text to token ids and back: the ids of Hugging Face's tokenizers for the same `tokenizer.json`. `decode(encode(text))
 * === text` for well-formed text.
 */

import { assert, present } from "../assert.ts";
import { type BpeModel, byteTokens, pairKey, vocabSizeOf } from "./bpe_model.ts";
import { endOfTextToken, splitWords } from "./words.ts";

const cacheLimitWords = 65_536;
const cacheLimitWordLength = 64; // UTF-16 units; longer words would fill memory

export class Tokenizer {
  readonly model: BpeModel;
  readonly vocabSize: number;
  readonly endOfText: number; // last id
  readonly #mergedIds = new Map<number, number>(); // pair → id; a lower id is an earlier merge
  readonly #bytes: Uint8Array[] = []; // by id
  readonly #cache = new Map<string, readonly number[]>();
  readonly #encoder = new TextEncoder();

  constructor(model: BpeModel) {
    this.model = model;
    this.vocabSize = vocabSizeOf(model);
    this.endOfText = this.vocabSize - 1;
    for (let byte = 0; byte < byteTokens; byte++) this.#bytes.push(Uint8Array.of(byte));
    for (const [left, right] of model.merges) {
      this.#mergedIds.set(pairKey(left, right), this.#bytes.length);
      this.#bytes.push(Uint8Array.from([...this.bytesOf(left), ...this.bytesOf(right)]));
    }
    this.#bytes.push(this.#encoder.encode(endOfTextToken));
    assert(this.#mergedIds.size === model.merges.length, "a pair is merged at most once");
  }

  /** `<|endoftext|>` becomes the special token; nothing is added. */
  encode(text: string): number[] {
    const ids: number[] = [];
    for (const [index, part] of text.split(endOfTextToken).entries()) {
      if (index > 0) ids.push(this.endOfText);
      for (const word of splitWords(part)) {
        for (const id of this.#encodeWord(word)) ids.push(id);
      }
    }
    return ids;
  }

  /** Bytes that are not UTF-8 become U+FFFD. */
  decode(ids: Iterable<number>): string {
    const parts = [...ids].map((id) => this.bytesOf(id));
    const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
    let offset = 0;
    for (const part of parts) {
      bytes.set(part, offset);
      offset += part.length;
    }
    return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
  }

  bytesOf(id: number): Uint8Array {
    return present(
      this.#bytes[id],
      `A token's id must be below ${this.vocabSize}, and is ${id}`,
    );
  }

  #encodeWord(word: string): readonly number[] {
    const cached = this.#cache.get(word);
    if (cached !== undefined) return cached;
    const ids = this.#merge([...this.#encoder.encode(word)]);
    if (word.length <= cacheLimitWordLength) {
      if (this.#cache.size >= cacheLimitWords) this.#cache.clear();
      this.#cache.set(word, ids);
    }
    return ids;
  }

  /** Earliest learned merge first, everywhere from left to right. */
  #merge(ids: number[]): number[] {
    let length = ids.length;
    for (;;) {
      let best = Infinity;
      for (let i = 1; i < length; i++) {
        best = Math.min(best, this.#mergedIds.get(pairKey(ids[i - 1]!, ids[i]!)) ?? Infinity);
      }
      if (best === Infinity) break;
      const [left, right] = present(this.model.merges[best - byteTokens], "a merged id has its merge");
      let kept = 0;
      for (let i = 0; i < length; i++) {
        if (i + 1 < length && ids[i] === left && ids[i + 1] === right) {
          ids[kept++] = best;
          i++;
        } else ids[kept++] = ids[i]!;
      }
      length = kept;
    }
    ids.length = length;
    return ids;
  }
}
