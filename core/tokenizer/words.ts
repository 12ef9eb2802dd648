/**
 * GPT-2's pre-tokenisation: words that no merge crosses. White space is Unicode's White_Space, as in Hugging Face's
 * `ByteLevel`; JavaScript's `\s` differs at U+0085 and U+FEFF.
 */

import { type Split, splitAt } from "./splits.ts";

/** Ends a document, in the tokenizers that this program trains. */
export const endOfTextToken = "<|endoftext|>";

const wordPattern = new RegExp(
  String.raw`'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\p{White_Space}\p{L}\p{N}]+` +
    String.raw`|\p{White_Space}+(?!\P{White_Space})|\p{White_Space}+`,
  "gu",
);

export const gpt2Words: Split = splitAt(wordPattern, { behavior: "Isolated", isInverted: false });

export function countWords(texts: Iterable<string>): Map<string, number> {
  const counts = new Map<string, number>();
  for (const text of texts) gpt2Words(text, (word) => counts.set(word, (counts.get(word) ?? 0) + 1));
  return counts;
}
