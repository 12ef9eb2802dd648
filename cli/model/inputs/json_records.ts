/** JSON Lines, a record a line, and JSON files that are one list of records. Only one record is held at a time. */

import { UserError } from "../../program/errors.ts";
import type { Piece, Pieces } from "./pieces.ts";
import { type FieldOptions, FieldReader } from "./records.ts";

const recordLimitChars = 2 ** 24; // parsed, it may take a hundred times that

export async function* jsonLines(chunks: AsyncIterable<string>, options: FieldOptions): Pieces {
  const reader = new FieldReader(options);
  let rest = "";
  let line = 0;
  const read = (text: string): Piece[] => {
    line++;
    if (text.length > recordLimitChars) throw tooLong(options.place, `line ${line}`);
    return text.trim() === "" ? [] : reader.piecesOf(parse(text, options.place, `line ${line}`), `line ${line}`);
  };
  for await (const chunk of chunks) {
    const lines = chunk.split("\n");
    lines[0] = rest + lines[0];
    rest = lines.pop()!;
    if (rest.length > recordLimitChars) throw tooLong(options.place, `line ${line + lines.length + 1}`);
    yield lines.flatMap(read);
  }
  yield read(rest);
  reader.end();
}

export async function* jsonList(chunks: AsyncIterable<string>, options: FieldOptions): Pieces {
  const splitter = new ListSplitter(options.place);
  const reader = new FieldReader(options);
  let count = 0;
  const read = (text: string): Piece[] => {
    const record = `record ${++count}`;
    return reader.piecesOf(parse(text, options.place, record), record);
  };
  for await (const chunk of chunks) yield splitter.add(chunk).flatMap(read);
  splitter.end();
  reader.end();
}

const signs = /["\\,[\]{}]/g;

/** Cuts a list into the texts of its elements, wherever chunks end. Whether those are JSON is for `parse` to say. */
class ListSplitter {
  readonly #place: string;
  #depth = 0; // 1: between elements of the list
  #isString = false;
  #isEscaped = false; // the next character
  #element = "";
  #elements = 0;
  #isOver = false;

  constructor(place: string) {
    this.#place = place;
  }

  add(chunk: string): string[] {
    const elements: string[] = [];
    let from = this.#begin(chunk);
    for (let at = from; at < chunk.length; at++) {
      if (this.#isEscaped) {
        this.#isEscaped = false;
        continue;
      }
      signs.lastIndex = at;
      const found = signs.exec(chunk);
      if (found === null || this.#isOver) break;
      at = found.index;
      const ends = this.#follow(found[0]);
      if (!ends) continue;
      const element = this.#element + chunk.slice(from, at);
      from = at + 1;
      this.#element = "";
      if (this.#isOver && this.#elements === 0 && element.trim() === "") break; // an empty list
      this.#elements++;
      elements.push(element);
    }
    this.#element += chunk.slice(from);
    if (this.#element.length > recordLimitChars) throw tooLong(this.#place, `record ${this.#elements + 1}`);
    if (this.#isOver && this.#element.trim() !== "") throw notJson(this.#place, "what follows its list");
    return elements;
  }

  end(): void {
    if (!this.#isOver) throw notJson(this.#place, "it");
  }

  /** Where the list's elements begin in the chunk. */
  #begin(chunk: string): number {
    if (this.#depth > 0 || this.#isOver) return 0;
    const start = chunk.search(/\S/);
    if (start < 0) return chunk.length;
    if (chunk[start] !== "[") throw notList(this.#place);
    this.#depth = 1;
    return start + 1;
  }

  /** Whether the sign ends an element. */
  #follow(sign: string): boolean {
    if (this.#isString) {
      if (sign === "\\") this.#isEscaped = true;
      else if (sign === '"') this.#isString = false;
      return false;
    }
    if (sign === '"') this.#isString = true;
    else if (sign === "[" || sign === "{") this.#depth++;
    else if (sign === "]" || sign === "}") this.#isOver = --this.#depth === 0;
    else if (sign === ",") return this.#depth === 1;
    return this.#isOver;
  }
}

function parse(text: string, place: string, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw notJson(place, what, cause);
  }
}

const notJson = (place: string, what: string, cause?: unknown): UserError =>
  new UserError(`Cannot read '${place}': ${what} is not JSON`, {
    next: "Get the file again: it is damaged or cut off. Or pass --format text if it is prose",
    cause,
  });

const notList = (place: string): UserError =>
  new UserError(`Cannot read '${place}': its JSON is not a list of records`, {
    next: "Make JSON Lines of it, for example with jq -c, and pass them",
  });

const tooLong = (place: string, what: string): UserError =>
  new UserError(`Cannot read '${place}': ${what} is longer than ${recordLimitChars} characters`, {
    next: "Make JSON Lines of it, a record a line, for example with jq -c '.[]'",
  });
