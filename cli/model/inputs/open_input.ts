/**
 * One input as documents. Packed and binary formats are known by their first bytes; text formats, which have none, by
 * what the owner says or the file's name. Text that begins as records do is not taken for prose.
 */

import { UserError } from "../../program/errors.ts";
import { type ByteInput, openByteInput } from "./byte_input.ts";
import { csvRecords } from "./csv_records.ts";
import { decoded } from "./decoded.ts";
import { jsonLines, jsonList } from "./json_records.ts";
import { parquetRecords } from "./parquet_records.ts";
import type { Pieces } from "./pieces.ts";
import { textDocuments } from "./text_documents.ts";
import { binaryFormat, recordsIn } from "./text_format.ts";
import { packingOf, unpacked, unpackedName } from "./unpacked.ts";

export const textFormats = ["text", "jsonl", "json", "csv", "parquet"] as const;
export type TextFormat = typeof textFormats[number];

export interface ReadOptions {
  /** Absent: by first bytes and name. */
  readonly format?: TextFormat | undefined;
  /** Of records. @default "text" */
  readonly field?: string | undefined;
  /** Of texts. @default `<|endoftext|>` on a line of its own */
  readonly separator?: string | undefined;
}

export interface OpenInput {
  readonly input: ByteInput;
  readonly format: TextFormat;
  pieces(onRead: (bytes: number) => void): Pieces;
}

const headBytes = 65_536;

export async function openInput(place: string, options: ReadOptions): Promise<OpenInput> {
  const input = await openByteInput(place);
  const packedHead = await input.range(0, Math.min(headBytes, input.bytes));
  const packing = packingOf(packedHead);
  const content = () => packing === null ? input.stream() : unpacked(input.stream(), packing, place);
  const head = packing === null ? packedHead : await beginningOf(content());
  const fields = { place, field: options.field ?? "text" };
  if (isParquet(head)) {
    if (packing !== null) {
      throw new UserError(`Cannot read '${place}': it is a Parquet table inside ${packing.name}`, {
        next: "Unpack it first, and pass the table",
      });
    }
    if (options.format !== undefined && options.format !== "parquet") {
      throw otherFormat(place, options.format, "it is a Parquet table");
    }
    return { input, format: "parquet", pieces: (onRead) => parquetRecords(input, { ...fields, onRead }) };
  }
  const binary = binaryFormat(head, place);
  if (binary !== null) throw new UserError(`Cannot read '${place}': ${binary.found}`, { next: binary.next });
  const format = options.format ?? formatByName(unpackedName(place));
  const found = options.format === undefined && format === "text" ? recordsIn(head) : null;
  if (found !== null) {
    throw new UserError(`Cannot read '${place}' as prose: ${found.found}`, {
      next:
        `Prepare it with iota data prepare --format ${found.format} and the --field with the texts, or --format text ` +
        `if it is prose. Or let its name end in .${found.format}`,
    });
  }
  if (format === "parquet") throw otherFormat(place, format, "it does not begin as one");
  return {
    ...{ input, format },
    pieces(onRead) {
      const bytes = packing === null
        ? counted(input.stream(), onRead)
        : unpacked(counted(input.stream(), onRead), packing, place);
      const text = decoded(bytes, { head, place });
      if (format === "jsonl") return jsonLines(text, fields);
      if (format === "json") return jsonList(text, fields);
      if (format === "csv") return csvRecords(text, fields);
      return textDocuments(text, options.separator ?? null);
    },
  };
}

const isParquet = (head: Uint8Array): boolean =>
  new TextDecoder("latin1").decode(head.subarray(0, 4)) === "PAR1" && head.includes(0);

const formatOfExtension: Readonly<Record<string, TextFormat>> = {
  jsonl: "jsonl",
  ndjson: "jsonl",
  json: "json",
  csv: "csv",
  tsv: "csv",
  tab: "csv",
};

/** The parameters of a web address do not count. */
function formatByName(name: string): TextFormat {
  const [, extension = ""] = /\.([a-z]+)(?:[?#].*)?$/i.exec(name) ?? [];
  return formatOfExtension[extension.toLowerCase()] ?? "text";
}

const otherFormat = (place: string, format: TextFormat, found: string): UserError =>
  new UserError(`Cannot read '${place}' as ${format}: ${found}`, { next: "Leave --format out" });

async function beginningOf(chunks: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const head = new Uint8Array(headBytes);
  let done = 0;
  for await (const chunk of chunks) {
    const part = chunk.subarray(0, headBytes - done);
    head.set(part, done);
    done += part.length;
    if (done === headBytes) break;
  }
  return head.subarray(0, done);
}

async function* counted(
  chunks: AsyncIterable<Uint8Array<ArrayBuffer>>,
  onRead: (bytes: number) => void,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  let done = 0;
  for await (const chunk of chunks) {
    done += chunk.length;
    onRead(done);
    yield chunk;
  }
}
