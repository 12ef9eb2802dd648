/**
 * Keeps what people write from becoming special tokens. A template copies a message's content between its special tokens,
 * and afterwards nobody can tell which of both a spelling came from. So contents get a mark, a character that neither they
 * nor the template have: inside each spelling of a special token, and at an end that could complete one with what the
 * template puts beside it. A marked spelling stays text (core/tokenizer), and the marks are gone from the tokens.
 *
 * All else in a content is as it was, so a template may trim it, measure it or look for words in it. What it makes
 * lower-case is covered; only one that cuts words apart and joins them could still spell a token.
 */

import { present } from "../../../core/assert.ts";

/** Unicode has 32 characters for a program's own use, which no text should have. */
const marks = Array.from({ length: 32 }, (_, i) => String.fromCharCode(0xfdd0 + i));
const replacement = "\ufffd";

/** A mark that is in none of the texts. Texts that have all of them lose the last one. */
export function freeMark(texts: readonly string[]): string {
  return marks.find((mark) => !texts.some((text) => text.includes(mark))) ?? present(marks.at(-1), "there are marks");
}

const lowered = (text: string): string => text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());

export function markedText(text: string, { mark, spellings }: { mark: string; spellings: Iterable<string> }): string {
  const own = text.replaceAll(mark, replacement);
  const low = lowered(own);
  const first = own.length - own.trimStart().length;
  const end = own.trimEnd().length;
  const places = new Set<number>(); // in `own`: a mark goes before the character there
  const trimmed = low.slice(first, end);
  for (const spelling of spellings) {
    const token = lowered(spelling);
    for (let at = low.indexOf(token); at >= 0; at = low.indexOf(token, at + 1)) {
      places.add(at + (token.length > 1 ? 1 : 0));
    }
    if (trimmed === "") continue;
    if (endsInto(trimmed, token)) places.add(end);
    if (token.includes(trimmed) || beginsOutOf(trimmed, token)) places.add(first);
  }
  let [marked, from] = ["", 0];
  for (const place of [...places].sort((a, b) => a - b)) {
    marked += own.slice(from, place) + mark;
    from = place;
  }
  return marked + own.slice(from);
}

/** The text's end is the token's beginning. */
function endsInto(text: string, token: string): boolean {
  for (let length = Math.min(text.length, token.length - 1); length > 0; length--) {
    if (text.endsWith(token.slice(0, length))) return true;
  }
  return false;
}

/** The text's beginning is the token's end. */
function beginsOutOf(text: string, token: string): boolean {
  for (let length = Math.min(text.length, token.length - 1); length > 0; length--) {
    if (text.startsWith(token.slice(-length))) return true;
  }
  return false;
}
