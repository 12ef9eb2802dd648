/**
 * Cuts text into words, the pieces that no merge crosses: GPT-2's pre-tokenisation.
 *
 * Owns: the pattern and the one special token. Invariant: the words of a text, joined, are the text. White space is
 * Unicode's White_Space property, as in Hugging Face's `ByteLevel`, not JavaScript's `\s` (they differ at U+0085 and
 * U+FEFF).
 */

/** Ends every document. Recognised in text, as Hugging Face does with a special token. */
export const endOfTextToken = "<|endoftext|>";

const wordPattern = new RegExp(
  String.raw`'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\p{White_Space}\p{L}\p{N}]+` +
    String.raw`|\p{White_Space}+(?!\P{White_Space})|\p{White_Space}+`,
  "gu",
);

export function splitWords(text: string): string[] {
  return text.match(wordPattern) ?? [];
}

/** How often each word occurs: all that training needs from a corpus. */
export function countWords(texts: Iterable<string>): Map<string, number> {
  const counts = new Map<string, number>();
  for (const text of texts) {
    for (const word of splitWords(text)) counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  return counts;
}
