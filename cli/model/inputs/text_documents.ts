/**
 * A text as documents: one, or as many as separators make of it. `<|endoftext|>` separates on a line of its own; inside a
 * line it is text. A separator that the owner names separates anywhere.
 */

import { endOfTextToken } from "../../../core/tokenizer/words.ts";
import { type Piece, PieceCutter, type Pieces } from "./pieces.ts";

/** `separator` null: `<|endoftext|>` on a line of its own. */
export async function* textDocuments(chunks: AsyncIterable<string>, separator: string | null): Pieces {
  const splitter = new Splitter(separator);
  for await (const chunk of chunks) yield splitter.add(chunk, false);
  yield splitter.add("", true);
}

class Splitter {
  readonly #separator: string;
  readonly #isOfLine: boolean;
  readonly #cutter = new PieceCutter();
  #rest = ""; // may begin a separator
  #isAtLineStart = true; // where the rest begins

  constructor(separator: string | null) {
    this.#separator = separator ?? endOfTextToken;
    this.#isOfLine = separator === null;
  }

  add(chunk: string, isLast: boolean): Piece[] {
    const text = (this.#rest + chunk).replaceAll("\r\n", "\n");
    const pieces: Piece[] = [];
    let from = 0;
    for (let at = text.indexOf(this.#separator); at >= 0; at = text.indexOf(this.#separator, at + 1)) {
      if (at < from) continue;
      const place = this.#isOfLine
        ? this.#lineAround(text, { at, from, isLast })
        : { start: at, end: at + this.#separator.length };
      if (place === "unknown") break;
      if (place === null) continue;
      pieces.push(...this.#cutter.add(text.slice(from, place.start)), ...this.#cutter.end());
      from = place.end;
      this.#isAtLineStart = true;
    }
    const kept = isLast ? text.length : Math.max(from, keptFrom(text, this.#separator));
    const done = text.slice(from, kept);
    if (done !== "") this.#isAtLineStart = done.endsWith("\n");
    pieces.push(...this.#cutter.add(done));
    this.#rest = text.slice(kept);
    if (isLast) pieces.push(...this.#cutter.end());
    return pieces;
  }

  /** Null: there is other text in its line. */
  #lineAround(
    text: string,
    { at, from, isLast }: { at: number; from: number; isLast: boolean },
  ): { start: number; end: number } | "unknown" | null {
    let start = at;
    while (start > from && at - start < mostBlanks && isBlank(text[start - 1]!)) start--;
    if (start === from ? from === 0 && !this.#isAtLineStart : text[start - 1] !== "\n") return null;
    const after = at + this.#separator.length;
    let end = after;
    while (end < text.length && end - after < mostBlanks && isBlank(text[end]!)) end++;
    if (end === text.length) return isLast ? { start, end } : "unknown";
    return text[end] === "\n" ? { start, end: end + 1 } : null;
  }
}

const isBlank = (letter: string): boolean => letter === " " || letter === "\t" || letter === "\r";
const mostBlanks = 64; // around a separator in its line

/** What comes before can no longer be part of a separator or its line. */
function keptFrom(text: string, separator: string): number {
  const line = text.lastIndexOf("\n") + 1;
  const near = text.length - separator.length - 2 * mostBlanks;
  return Math.max(0, line > near ? line - (text[line - 1] === "\n" ? 1 : 0) : near);
}
