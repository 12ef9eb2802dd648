/** JSON Lines, a record a line, and JSON files that are one list of records. */

import { UserError } from "../../program/errors.ts";
import type { Piece, Pieces } from "./pieces.ts";
import { type FieldOptions, FieldReader } from "./records.ts";

const lineLimitChars = 2 ** 26;
const listLimitChars = 2 ** 28; // a list is parsed whole

export async function* jsonLines(chunks: AsyncIterable<string>, options: FieldOptions): Pieces {
  const reader = new FieldReader(options);
  let rest = "";
  let line = 0;
  const read = (text: string): Piece[] => {
    line++;
    return text.trim() === "" ? [] : reader.piecesOf(parse(text, options.place, `line ${line}`), `line ${line}`);
  };
  for await (const chunk of chunks) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop()!;
    if (rest.length > lineLimitChars) throw tooLong(options.place, `line ${line + lines.length + 1}`);
    yield lines.flatMap(read);
  }
  yield read(rest);
  reader.end();
}

export async function* jsonList(chunks: AsyncIterable<string>, options: FieldOptions): Pieces {
  let text = "";
  for await (const chunk of chunks) {
    text += chunk;
    if (text.length > listLimitChars) throw tooLong(options.place, "it");
  }
  const list = parse(text, options.place, "it");
  if (!Array.isArray(list)) {
    throw new UserError(`Cannot read '${options.place}': it is JSON, but no list of records`, {
      next: "Make JSON Lines of it, for example with jq -c, and pass them",
    });
  }
  const reader = new FieldReader(options);
  for (const [i, record] of list.entries()) yield reader.piecesOf(record, `record ${i + 1}`);
  reader.end();
}

function parse(text: string, place: string, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new UserError(`Cannot read '${place}': ${what} is not JSON`, {
      next: "Get the file again: it is damaged or cut off. Or pass --format text if it is prose",
      cause,
    });
  }
}

const tooLong = (place: string, what: string): UserError =>
  new UserError(`Cannot read '${place}': ${what} is longer than ${lineLimitChars} characters`, {
    next: "Make JSON Lines of it, a record a line, for example with jq -c '.[]'",
  });
