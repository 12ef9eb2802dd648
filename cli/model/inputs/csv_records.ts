/** Tables as text (RFC 4180; delimiters by the first line). The first record names the columns. */

import { UserError } from "../../program/errors.ts";
import type { Piece, Pieces } from "./pieces.ts";
import { type FieldOptions, FieldReader } from "./records.ts";

const delimiters = [",", ";", "\t", "|"] as const;
const recordLimitChars = 2 ** 26;

export async function* csvRecords(chunks: AsyncIterable<string>, options: FieldOptions): Pieces {
  const parser = new CsvParser(options.place);
  const reader = new FieldReader(options);
  let names: readonly string[] | null = null;
  let count = 1;
  const piecesOf = (fields: readonly string[]): Piece[] => {
    if (names === null) {
      names = fields;
      return [];
    }
    count++;
    if (fields.length === 1 && fields[0] === "" && names.length > 1) return []; // a blank line
    if (fields.length !== names.length) {
      throw new UserError(
        `Cannot read '${options.place}': record ${count} has ${fields.length} fields, and the first names ${names.length}`,
        { next: "Correct the file, or pass --format text if it is prose" },
      );
    }
    return reader.piecesOf(Object.fromEntries(names.map((name, i) => [name.trim(), fields[i]!])), `record ${count}`);
  };
  for await (const chunk of chunks) yield parser.add(chunk, false).flatMap(piecesOf);
  yield parser.add("", true).flatMap(piecesOf);
  reader.end();
}

class CsvParser {
  readonly #place: string;
  #rest = "";
  #delimiter: string | null = null;

  constructor(place: string) {
    this.#place = place;
  }

  add(chunk: string, isLast: boolean): string[][] {
    const text = this.#rest + chunk;
    this.#delimiter ??= delimiterOf(text, isLast);
    if (this.#delimiter === null) {
      this.#rest = text;
      return [];
    }
    const records: string[][] = [];
    let from = 0;
    while (from < text.length) {
      const found = readRecord(text, { from, delimiter: this.#delimiter, isLast });
      if (found === null) break;
      records.push(found.fields);
      from = found.end;
    }
    this.#rest = text.slice(from);
    if (this.#rest.length > (isLast ? 0 : recordLimitChars)) {
      throw new UserError(`Cannot read '${this.#place}': a quotation mark is never closed, or a field is too long`, {
        next: "Correct the file, or pass --format text if it is prose",
      });
    }
    return records;
  }
}

/** The one that the first line has most often; null: the line is not whole yet. */
function delimiterOf(text: string, isLast: boolean): string | null {
  const end = text.indexOf("\n");
  if (end < 0 && !isLast) return null;
  const line = (end < 0 ? text : text.slice(0, end)).replaceAll(/"[^"]*"/g, "");
  const counts = delimiters.map((each) => line.split(each).length);
  return delimiters[counts.indexOf(Math.max(...counts))]!;
}

/** Null: the record may go on. */
function readRecord(
  text: string,
  { from, delimiter, isLast }: { from: number; delimiter: string; isLast: boolean },
): { fields: string[]; end: number } | null {
  const fields: string[] = [];
  for (let at = from;;) {
    const field = text[at] === '"' ? quotedField(text, at) : plainField(text, at, delimiter);
    if (field === null || (field.end >= text.length - 1 && !isLast)) return null; // \r\n and "" may be cut in two
    fields.push(field.text);
    const next = text[field.end];
    if (next === delimiter) at = field.end + 1;
    else if (next === undefined) return { fields, end: text.length };
    else if (next === "\n") return { fields, end: field.end + 1 };
    else if (next === "\r" && text[field.end + 1] === "\n") return { fields, end: field.end + 2 };
    else {
      const rest = plainField(text, field.end, delimiter); // text after the closing mark
      fields[fields.length - 1] += rest.text;
      if (rest.end >= text.length - 1 && !isLast) return null;
      if (text[rest.end] === delimiter) at = rest.end + 1;
      else return { fields, end: Math.min(text.length, rest.end + (text[rest.end] === "\r" ? 2 : 1)) };
    }
  }
}

function quotedField(text: string, at: number): { text: string; end: number } | null {
  for (let end = text.indexOf('"', at + 1); end >= 0; end = text.indexOf('"', end + 2)) {
    if (text[end + 1] !== '"') return { text: text.slice(at + 1, end).replaceAll('""', '"'), end: end + 1 };
  }
  return null;
}

function plainField(text: string, at: number, delimiter: string): { text: string; end: number } {
  const line = text.indexOf("\n", at);
  const lineEnd = line < 0 ? text.length : line > at && text[line - 1] === "\r" ? line - 1 : line;
  const rest = text.slice(at, lineEnd);
  const next = rest.indexOf(delimiter);
  return next < 0 ? { text: rest, end: lineEnd } : { text: rest.slice(0, next), end: at + next };
}
