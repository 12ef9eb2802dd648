/**
 * Byte-pair encoding with the ids of Hugging Face's tokenizers for the same `tokenizer.json`. What differs between
 * tokenizers (how text becomes pieces, and a piece its first symbols) is passed in.
 *
 * Ids may lie anywhere and leave holes. Texts of any length and content take time in proportion to it, or nearly.
 */

import { assert } from "../assert.ts";
import { type AddedToken, AddedTokens } from "./added_tokens.ts";
import { mergeWord } from "./merge_word.ts";
import type { PairTable } from "./pair_table.ts";
import type { Split } from "./splits.ts";
import type { Tokenizer } from "./tokenizer.ts";

export interface BpeParts {
  readonly tokens: readonly (Uint8Array | undefined)[]; // by id; undefined: a hole
  readonly endOfText: number;
  readonly beginOfText: readonly number[];
  readonly pairs: PairTable;
  /** A word as symbols to merge. */
  readonly symbolsOf: (word: string) => number[];
  /** Words that are tokens, whatever the merges say. */
  readonly words: ReadonlyMap<string, number>;
  /** In the text as it is, and in its normal form. */
  readonly added: readonly AddedToken[];
  readonly addedNormal: readonly AddedToken[];
  readonly normalize: (text: string) => string;
  /** What is done to each part between added tokens before it is split. `isFirst`: the text begins with it. */
  readonly begin: (part: string, isFirst: boolean) => string;
  readonly split: Split;
  /** A space that encoding adds before a text, and decoding takes away. */
  readonly hasSpaceBefore: boolean;
}

const cacheLimitWords = 65_536;
const cacheLimitWordLength = 64; // UTF-16 units; longer words would fill memory
const slicedLength = 13; // from here on a part of a string keeps the whole one in V8's memory
const nothing = new Uint8Array(0);

export class BpeTokenizer implements Tokenizer {
  readonly vocabSize: number;
  readonly endOfText: number;
  readonly beginOfText: readonly number[];
  readonly special: ReadonlyMap<string, number>;
  readonly #parts: BpeParts;
  readonly #added: AddedTokens;
  readonly #addedNormal: AddedTokens;
  readonly #cache = new Map<string, readonly number[]>();

  constructor(parts: BpeParts) {
    this.#parts = parts;
    this.vocabSize = parts.tokens.length;
    this.endOfText = parts.endOfText;
    this.beginOfText = parts.beginOfText;
    const special = [...parts.added, ...parts.addedNormal].filter(({ isSpecial }) => isSpecial);
    this.special = new Map(special.map(({ content, id }) => [content, id]));
    this.#added = new AddedTokens(parts.added);
    this.#addedNormal = new AddedTokens(parts.addedNormal);
  }

  encode(text: string): number[] {
    return this.#encode(text, null);
  }

  encodeMarked(text: string, mark: string): number[] {
    return this.#encode(text, mark);
  }

  /** `mark`: special tokens are found, and it is taken out; null: they stay text. */
  #encode(text: string, mark: string | null): number[] {
    const { normalize, begin, split } = this.#parts;
    const ids: number[] = [];
    const encodeWord = (word: string) => {
      for (const id of this.#encodeWord(word)) ids.push(id);
    };
    let isFirst = true;
    const options = { findsSpecial: mark !== null };
    for (const part of this.#added.cut(text.toWellFormed(), options)) {
      const inside = typeof part === "number" ? [part] : this.#addedNormal.cut(normalize(part), options);
      for (const each of inside) {
        if (typeof each === "number") ids.push(each);
        else split(begin(mark === null ? each : each.replaceAll(mark, ""), isFirst), encodeWord);
        isFirst = false;
      }
    }
    return ids;
  }

  decode(ids: Iterable<number>): string {
    const parts = [...ids].map((id) => this.bytesOf(id));
    const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
    let offset = 0;
    for (const part of parts) {
      bytes.set(part, offset);
      offset += part.length;
    }
    const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
    return this.#parts.hasSpaceBefore && text.startsWith(" ") ? text.slice(1) : text;
  }

  bytesOf(id: number): Uint8Array {
    assert(id >= 0 && id < this.vocabSize, `A token's id must be below ${this.vocabSize}, and is ${id}`);
    return this.#parts.tokens[id] ?? nothing;
  }

  #encodeWord(word: string): readonly number[] {
    const cached = this.#cache.get(word);
    if (cached !== undefined) return cached;
    const whole = this.#parts.words.get(word);
    const ids = whole === undefined ? mergeWord(this.#parts.symbolsOf(word), this.#parts.pairs) : [whole];
    if (word.length <= cacheLimitWordLength) {
      if (this.#cache.size >= cacheLimitWords) this.#cache.clear();
      this.#cache.set(word.length < slicedLength ? word : copied(word), ids);
    }
    return ids;
  }
}

const copied = (word: string): string => String.fromCharCode(...Array.from(word, (_, i) => word.charCodeAt(i)));
