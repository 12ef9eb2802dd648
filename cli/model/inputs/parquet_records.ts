/** Parquet tables: one column, a row group at a time. Of a file on the web only that column's bytes are fetched. */

import type { FileMetaData } from "hyparquet";
import type { ByteInput } from "./byte_input.ts";
import { UserError } from "../../program/errors.ts";
import { boundedUnpackers, checkMetadata, checkPages, groupLimitBytes } from "./parquet_bounds.ts";
import type { Pieces } from "./pieces.ts";
import { type FieldOptions, FieldReader } from "./records.ts";

const rowsOfTurn = 1024; // between two reports

export interface ParquetOptions extends FieldOptions {
  /** As many bytes as the rows read are of all. */
  readonly onRead: (bytes: number) => void;
}

export async function* parquetRecords(input: ByteInput, options: ParquetOptions): Pieces {
  const { place, field, onRead } = options;
  const [column = field] = field.split(".");
  const metadata = await readable(place, () => metadataOf(input));
  const names = await readable(place, async () => columnsOf((await import("hyparquet")).parquetSchema(metadata)));
  if (!names.includes(column)) {
    throw new UserError(`Cannot read '${place}': it has no column '${column}'`, {
      next: `Name the column with --field; it has ${names.slice(0, 20).map((name) => `'${name}'`).join(", ")}`,
    });
  }
  const reader = new FieldReader(options);
  const rows = Number(metadata.row_groups.reduce((sum, { num_rows }) => sum + num_rows, 0n));
  let [row, packed] = [0, 0];
  for (const group of metadata.row_groups) {
    const chunks = await readable(place, () => chunksOf(group, { input, column }));
    packed += chunks.reduce((sum, { from, to }) => sum + to - from, 0);
    if (packed > input.bytes) throw damaged(place, "its row groups overlap");
    const records = await readable(place, () => recordsOf({ group, metadata, column, chunks }));
    for (const record of records) {
      row++;
      yield reader.piecesOf(record, `row ${row}`);
      if (row % rowsOfTurn === 0) onRead(input.bytes * (row / rows));
    }
  }
  onRead(input.bytes);
  reader.end();
}

type Group = FileMetaData["row_groups"][number];

async function metadataOf(input: ByteInput): Promise<FileMetaData> {
  await checkMetadata(input);
  const { parquetMetadataAsync } = await import("hyparquet");
  const slice = async (from: number, to?: number) =>
    (await input.range(from, Math.min(to ?? input.bytes, input.bytes))).buffer;
  return await parquetMetadataAsync({ byteLength: input.bytes, slice }, { geoparquet: false });
}

const columnsOf = ({ children }: { children: readonly { element: { name: string } }[] }): string[] =>
  children.map(({ element }) => element.name);

/** Bytes of the file. */
interface Chunk {
  readonly from: number;
  readonly to: number;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** The column's bytes in a row group, checked; one inside a record is one of several. */
async function chunksOf(group: Group, { input, column }: { input: ByteInput; column: string }): Promise<Chunk[]> {
  const chunks: Chunk[] = [];
  for (const { meta_data: meta } of group.columns) {
    if (meta?.path_in_schema[0] !== column) continue;
    const from = Number(meta.dictionary_page_offset || meta.data_page_offset);
    const to = from + Number(meta.total_compressed_size);
    if (!(0 <= from && from <= to && to <= input.bytes)) throw new Error("a column lies outside of the file");
    if (to - from > groupLimitBytes) {
      throw new Error(`a row group has more than ${groupLimitBytes} bytes of the column`);
    }
    const bytes = await input.range(from, to);
    checkPages(bytes);
    chunks.push({ from, to, bytes });
  }
  return chunks;
}

/** Reads from the chunks alone: what the library asks for beside them is zeros. */
async function recordsOf(
  { group, metadata, column, chunks }: {
    group: Group;
    metadata: FileMetaData;
    column: string;
    chunks: readonly Chunk[];
  },
): Promise<Record<string, unknown>[]> {
  const { parquetReadObjects } = await import("hyparquet");
  const { compressors } = await import("hyparquet-compressors");
  const byteLength = Math.max(0, ...chunks.map(({ to }) => to));
  const slice = (from: number, to: number = byteLength) => {
    const bytes = new Uint8Array(Math.max(0, Math.min(to, byteLength) - from));
    for (const chunk of chunks) {
      const [start, end] = [Math.max(from, chunk.from), Math.min(to, chunk.to)];
      if (start < end) bytes.set(chunk.bytes.subarray(start - chunk.from, end - chunk.from), start - from);
    }
    return bytes.buffer;
  };
  return await parquetReadObjects({
    file: { byteLength, slice },
    metadata: { ...metadata, row_groups: [group] },
    compressors: boundedUnpackers(compressors),
    columns: [column],
  });
}

async function readable<T>(place: string, body: () => Promise<T>): Promise<T> {
  try {
    return await body();
  } catch (cause) {
    if (cause instanceof UserError) throw cause;
    const isSaid = cause instanceof Error && cause.name === "Error"; // others are the language's, about the reader
    throw damaged(place, isSaid ? cause.message : "its structure is damaged", cause);
  }
}

const damaged = (place: string, reason: string, cause?: unknown): UserError =>
  new UserError(`Cannot read '${place}' as a Parquet table: ${reason}`, {
    next: "Get the file again: it is damaged or cut off. Or write it again with smaller row groups",
    cause,
  });
