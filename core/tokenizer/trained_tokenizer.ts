/**
 * The tokenizer that this program trains: GPT-2's words, bytes as first symbols, ids as in bpe_model.ts.
 * `decode(encode(text)) === text` for well-formed text.
 */

import { assert } from "../assert.ts";
import type { AddedToken } from "./added_tokens.ts";
import { BpeTokenizer } from "./bpe.ts";
import { type BpeModel, byteTokens, vocabSizeOf } from "./bpe_model.ts";
import { PairTable } from "./pair_table.ts";
import { endOfTextToken, gpt2Words } from "./words.ts";

const endToken: Omit<AddedToken, "id"> = {
  ...{ content: endOfTextToken, isSpecial: true, isWord: false, takesSpaceBefore: false, takesSpaceBehind: false },
};

export class TrainedTokenizer extends BpeTokenizer {
  readonly model: BpeModel;

  constructor(model: BpeModel) {
    const tokens = Array.from({ length: byteTokens }, (_, byte) => Uint8Array.of(byte));
    for (const [left, right] of model.merges) {
      const [first, second] = [tokens[left], tokens[right]];
      assert(first !== undefined && second !== undefined, "A merge joins tokens that exist before it");
      tokens.push(Uint8Array.from([...first, ...second]));
    }
    const encoder = new TextEncoder();
    const endOfText = vocabSizeOf(model) - 1;
    super({
      tokens: [...tokens, encoder.encode(endOfTextToken)],
      ...{ endOfText, beginOfText: [] },
      pairs: new PairTable(model.merges.map(([left, right], i) => ({ left, right, made: byteTokens + i }))),
      symbolsOf: (word) => [...encoder.encode(word)],
      ...{ words: new Map(), added: [{ id: endOfText, ...endToken }], addedNormal: [] },
      normalize: (text) => text,
      begin: (part) => part,
      split: gpt2Words,
      hasSpaceBefore: false,
    });
    this.model = model;
  }
}
