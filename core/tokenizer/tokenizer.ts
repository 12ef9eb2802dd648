/** Text to token ids and back, whatever the kind of the tokenizer. */

export interface Tokenizer {
  /** Ids are below it. Some may stand for nothing: a vocabulary may have holes. */
  readonly vocabSize: number;
  /** The id that ends a document. No text is encoded to it. */
  readonly endOfText: number;
  /** Adds nothing, and spells special tokens that the text mentions: text cannot forge one. */
  encode(text: string): number[];
  /** Bytes that are not UTF-8 become U+FFFD. */
  decode(ids: Iterable<number>): string;
  /** What a token adds to a text that has begun. Empty for an id that stands for nothing. */
  bytesOf(id: number): Uint8Array;
}
