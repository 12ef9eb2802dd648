/** Records with fields, and the text that one field holds. A record that is a string is its own text. */

import { UserError } from "../../program/errors.ts";
import { type Piece, piecesOf } from "./pieces.ts";

export interface FieldOptions {
  readonly place: string;
  /** A dot goes into an object: "data.text". */
  readonly field: string;
}

/** A record whose field is missing, null or empty is left out. */
export class FieldReader {
  readonly #options: FieldOptions;
  readonly #steps: readonly string[];
  #read = 0;
  #withText = 0;
  #names = new Set<string>();

  constructor(options: FieldOptions) {
    this.#options = options;
    this.#steps = options.field.split(".");
  }

  /** `line`: where the record is, for errors. */
  piecesOf(record: unknown, line: string): Piece[] {
    this.#read++;
    const text = this.#textOf(record, line);
    if (text === "") return [];
    this.#withText++;
    return piecesOf(text);
  }

  #textOf(record: unknown, line: string): string {
    const { place, field } = this.#options;
    if (typeof record === "string") return record;
    if (!isObject(record)) {
      throw new UserError(`Cannot read '${place}': ${line} is not a record with fields`, {
        next: "Pass a file of records",
      });
    }
    const value = Object.hasOwn(record, field) ? record[field] : this.#steps.reduce<unknown>(stepInto, record);
    if (typeof value === "string") return value;
    if (value !== undefined && value !== null) {
      throw new UserError(`Cannot read '${place}': the field '${field}' of ${line} does not hold text`, {
        next: otherField(record),
      });
    }
    if (this.#names.size < mostNames) { for (const name of Object.keys(record)) this.#names.add(name); }
    return "";
  }

  /** All fields missing is a mistake, some are not. */
  end(): void {
    if (this.#read === 0 || this.#withText > 0) return;
    const { place, field } = this.#options;
    const names = [...this.#names].slice(0, mostNames).map((name) => `'${name.slice(0, 60)}'`).join(", ");
    throw new UserError(`Cannot read '${place}': none of its records has text in the field '${field}'`, {
      next: names === "" ? "Pass another file" : `Name the field with --field; its records have ${names}`,
    });
  }
}

const mostNames = 20;

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const stepInto = (value: unknown, step: string): unknown =>
  isObject(value) && Object.hasOwn(value, step) ? value[step] : undefined;

function otherField(record: Readonly<Record<string, unknown>>): string {
  const texts = Object.keys(record).filter((name) => typeof record[name] === "string").slice(0, mostNames);
  return texts.length === 0 ? "Pass another file" : `Name another one with --field: ${texts.join(", ")}`;
}
