/**
 * Documents as streams of pieces, so that a document of any length is read in bounded memory. Joined, the pieces are
 * the document. A piece ends after a blank line or a line, far from one anywhere.
 */

export interface Piece {
  readonly text: string;
  readonly endsDocument: boolean;
}

/** Batches of pieces, as they are read. */
export type Pieces = AsyncGenerator<readonly Piece[]>;

const pieceChars = 2048; // a piece is at least this long, where its document is
const pieceCharsAtLine = 4 * pieceChars; // beyond this it ends at any line end
const pieceCharsLimit = 32 * pieceChars; // beyond this, anywhere

/** Cuts one document after another; where chunks of its text begin and end makes no difference. */
export class PieceCutter {
  #text = "";
  #hasText = false; // of this document, other than blanks

  /** Goes on with the document. */
  add(text: string): Piece[] {
    this.#text += text;
    if (!this.#hasText) {
      this.#text = this.#text.replace(/^[\r\n]+/, "");
      this.#hasText = /\S/.test(this.#text);
    }
    const pieces: Piece[] = [];
    if (!this.#hasText) {
      if (this.#text.length > pieceCharsLimit) this.#text = ""; // blanks alone
      return pieces;
    }
    let from = 0;
    for (let end = cutAfter(this.#text, from); end !== null; end = cutAfter(this.#text, from)) {
      pieces.push({ text: this.#text.slice(from, end), endsDocument: false });
      from = end;
    }
    this.#text = this.#text.slice(from);
    return pieces;
  }

  /** A document without text is none. */
  end(): Piece[] {
    const text = this.#text.replace(/[\r\n]+$/, "");
    const pieces = this.#hasText ? [{ text, endsDocument: true }] : [];
    this.#text = "";
    this.#hasText = false;
    return pieces;
  }
}

/** Of a whole document. */
export function piecesOf(document: string): Piece[] {
  const cutter = new PieceCutter();
  return [...cutter.add(document), ...cutter.end()];
}

/** Null: the text may go on, and then be cut further on. */
function cutAfter(text: string, from: number): number | null {
  const near = text.slice(from, from + pieceCharsLimit + 1); // searching all of a long text for each piece takes hours
  for (let at = near.indexOf("\n", pieceChars); at >= 0; at = near.indexOf("\n", at + 1)) {
    if (at + 1 === near.length || at >= pieceCharsLimit) break; // the next character decides
    if (near[at + 1] === "\n" || at >= pieceCharsAtLine) return from + at + 1;
  }
  if (near.length <= pieceCharsLimit) return null;
  const blank = near.lastIndexOf(" ", pieceCharsLimit);
  if (blank > pieceChars) return from + blank;
  return from + (isLowSurrogate(near.charCodeAt(pieceCharsLimit)) ? pieceCharsLimit - 1 : pieceCharsLimit);
}

const isLowSurrogate = (unit: number): boolean => unit >= 0xdc00 && unit <= 0xdfff;
