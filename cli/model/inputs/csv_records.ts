/** Tables as text (RFC 4180; delimiters by the first line). The first record names the columns. */

import { UserError } from "../../program/errors.ts";
import type { Piece, Pieces } from "./pieces.ts";
import { type FieldOptions, FieldReader } from "./records.ts";

const delimiters = [",", ";", "\t", "|"] as const;
const recordLimitChars = 2 ** 26;
const mostFields = 2 ** 16; // of a record

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

/** Where a character of a record is: each is looked at once, however the text is cut into chunks. */
type Place = "start" | "plain" | "quoted" | "closed"; // closed: behind a quotation mark that may have ended the field

class CsvParser {
  readonly #place: string;
  #delimiter: string | null = null;
  #begun = ""; // the first line, until its delimiter is known
  #at: Place = "start";
  #field = "";
  #fields: string[] = [];
  #chars = 0; // of the record

  constructor(place: string) {
    this.#place = place;
  }

  add(chunk: string, isLast: boolean): string[][] {
    let text = chunk;
    if (this.#delimiter === null) {
      text = this.#begun + chunk;
      this.#delimiter = delimiterOf(text, { isWhole: isLast || chunk.includes("\n") });
      this.#begun = this.#delimiter === null ? text : "";
      if (this.#begun.length > recordLimitChars) throw this.#tooLong();
    }
    const records = this.#delimiter === null ? [] : this.#read(text, this.#delimiter);
    if (isLast && this.#at === "quoted") throw this.#tooLong();
    if (isLast && (this.#at !== "start" || this.#fields.length > 0)) records.push(this.#endRecord());
    return records;
  }

  #read(text: string, delimiter: string): string[][] {
    const records: string[][] = [];
    for (let from = 0; from < text.length;) {
      if (this.#at === "start" && text[from] === '"') {
        this.#at = "quoted";
        from++;
        continue;
      }
      const end = endOf(text, from, this.#at === "quoted" ? '"' : this.#at === "closed" ? null : delimiter);
      this.#take(text.slice(from, end));
      from = end;
      if (end === text.length) break;
      const sign = text[from++]!;
      if (this.#at === "quoted") this.#at = "closed";
      else if (this.#at === "closed" && sign === '"') {
        this.#take('"');
        this.#at = "quoted";
      } else if (sign === delimiter) this.#endField();
      else if (sign === "\n") records.push(this.#endRecord());
      else {
        this.#take(sign); // text behind a closing mark belongs to the field
        this.#at = "plain";
      }
    }
    return records;
  }

  #take(text: string): void {
    if (text === "") return;
    this.#field += text;
    if (this.#at === "start") this.#at = "plain";
    this.#chars += text.length;
    if (this.#chars > recordLimitChars) throw this.#tooLong();
  }

  #endField(): void {
    this.#fields.push(this.#field);
    this.#field = "";
    this.#at = "start";
    if (++this.#chars <= recordLimitChars && this.#fields.length <= mostFields) return;
    throw this.#tooLong();
  }

  #endRecord(): string[] {
    if (this.#at === "plain" && this.#field.endsWith("\r")) this.#field = this.#field.slice(0, -1);
    this.#endField();
    const fields = this.#fields;
    this.#fields = [];
    this.#chars = 0;
    return fields;
  }

  #tooLong(): UserError {
    return new UserError(`Cannot read '${this.#place}': a quotation mark is never closed, or a record is too long`, {
      next: "Correct the file, or pass --format text if it is prose",
    });
  }
}

const lineEnd = 0x0a;

/** Where a field's next sign is; `until` null: right here. */
function endOf(text: string, from: number, until: string | null): number {
  if (until === null) return from;
  if (until === '"') {
    const mark = text.indexOf('"', from);
    return mark < 0 ? text.length : mark;
  }
  const sign = until.charCodeAt(0);
  for (let at = from; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === sign || code === lineEnd) return at;
  }
  return text.length;
}

/** The one that the first line has most often; null: the line is not whole yet. */
function delimiterOf(text: string, { isWhole }: { isWhole: boolean }): string | null {
  if (!isWhole) return null;
  const end = text.indexOf("\n");
  const line = (end < 0 ? text : text.slice(0, end)).replaceAll(/"[^"]*"/g, "");
  const counts = delimiters.map((each) => line.split(each).length);
  return delimiters[counts.indexOf(Math.max(...counts))]!;
}
