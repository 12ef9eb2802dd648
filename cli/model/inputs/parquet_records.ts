/** Parquet tables: one column, a row group at a time. Of a file on the web only that column's bytes are fetched. */

import type { ByteInput } from "./byte_input.ts";
import { UserError } from "../../program/errors.ts";
import type { Pieces } from "./pieces.ts";
import { type FieldOptions, FieldReader } from "./records.ts";

const groupLimitBytes = 2 ** 30; // of a column, unpacked: it is in memory

export interface ParquetOptions extends FieldOptions {
  /** As many bytes as the rows read are of all. */
  readonly onRead: (bytes: number) => void;
}

export async function* parquetRecords(input: ByteInput, options: ParquetOptions): Pieces {
  const { parquetMetadataAsync, parquetReadObjects } = await import("hyparquet");
  const { compressors } = await import("hyparquet-compressors");
  const { place, field, onRead } = options;
  const file = {
    byteLength: input.bytes,
    slice: async (from: number, to?: number) =>
      (await input.range(from, Math.min(to ?? input.bytes, input.bytes))).buffer,
  };
  const metadata = await readable(place, () => parquetMetadataAsync(file));
  const [column = field] = field.split(".");
  const names = metadata.schema[0]?.num_children === undefined ? [] : columnsOf(metadata.schema);
  if (!names.includes(column)) {
    throw new UserError(`Cannot read '${place}': it has no column '${column}'`, {
      next: `Name the column with --field; it has ${names.slice(0, 20).map((name) => `'${name}'`).join(", ")}`,
    });
  }
  const reader = new FieldReader(options);
  let row = 0;
  for (const group of metadata.row_groups) {
    const chunk = group.columns.find(({ meta_data }) => meta_data?.path_in_schema[0] === column)?.meta_data;
    if (Number(chunk?.total_uncompressed_size ?? 0) > groupLimitBytes) {
      throw new UserError(`Cannot read '${place}': a row group has more than ${groupLimitBytes} bytes of '${column}'`, {
        next: "Write the table again with smaller row groups",
      });
    }
    const end = row + Number(group.num_rows);
    const range = { rowStart: row, rowEnd: end };
    const rows = await readable(
      place,
      () => parquetReadObjects({ file, metadata, compressors, columns: [column], ...range }),
    );
    yield rows.flatMap((record, i) => reader.piecesOf(record, `row ${range.rowStart + i + 1}`));
    row = end;
    onRead(input.bytes * (row / Number(metadata.num_rows)));
  }
  reader.end();
}

interface SchemaElement {
  readonly name: string;
  readonly num_children?: number;
}

/** Names of the root's children: the schema is a tree in depth-first order. */
function columnsOf(schema: readonly SchemaElement[]): string[] {
  const names: string[] = [];
  let at = 1;
  const skip = (): void => {
    const children = schema[at++]?.num_children ?? 0;
    for (let i = 0; i < children && at < schema.length; i++) skip();
  };
  for (let i = 0; i < (schema[0]?.num_children ?? 0) && at < schema.length; i++) {
    names.push(schema[at]!.name);
    skip();
  }
  return names;
}

async function readable<T>(place: string, body: () => Promise<T>): Promise<T> {
  try {
    return await body();
  } catch (cause) {
    if (cause instanceof UserError) throw cause;
    throw new UserError(
      `Cannot read '${place}' as a Parquet table: ${cause instanceof Error ? cause.message : String(cause)}`,
      {
        next: "Get the file again: it is damaged or cut off",
        cause,
      },
    );
  }
}
