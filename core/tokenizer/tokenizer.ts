/** Text to token ids and back, whatever the kind of the tokenizer. */

export interface Tokenizer {
  /** Ids are below it. Some may stand for nothing: a vocabulary may have holes. */
  readonly vocabSize: number;
  /** The id that ends a document. No text is encoded to it. */
  readonly endOfText: number;
  /** Ids before a text that a model continues or scores, as its tokenizer adds them. A document of a dataset has none. */
  readonly beginOfText: readonly number[];
  /** Tokens that no text is encoded to, by their spelling. */
  readonly special: ReadonlyMap<string, number>;
  /** Adds nothing, and spells special tokens that the text mentions: text cannot forge one. */
  encode(text: string): number[];
  /**
   * Text by a program that may use special tokens: their spellings become them. `mark`, a character that stands for
   * nothing, is taken out; a spelling with it inside stays text.
   */
  encodeMarked(text: string, mark: string): number[];
  /** Bytes that are not UTF-8 become U+FFFD. */
  decode(ids: Iterable<number>): string;
  /** What a token adds to a text that has begun. Empty for an id that stands for nothing. */
  bytesOf(id: number): Uint8Array;
}

/** What stands before a text's own tokens; never empty, because a model continues something. */
export const startOf = ({ beginOfText, endOfText }: Tokenizer): readonly number[] =>
  beginOfText.length > 0 ? beginOfText : [endOfText];
