/**
 * A Parquet file's claims, checked before the library that reads it believes them: it sizes arrays and loops by numbers in
 * the file. What passes here takes memory and time in proportion to the file and to the limits below.
 */

import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from "node:zlib";
import type { ByteInput } from "./byte_input.ts";
import { readThrift, type ThriftStruct, type ThriftValue } from "./thrift.ts";

const mostMetadata = 2 ** 25; // bytes
const mostElements = 4096; // columns and their parents
const mostPlanned = 2 ** 24; // elements times column chunks: the library walks the schema for each chunk
const deepest = 32;
const mostRows = 2 ** 23; // of a row group
export const groupLimitBytes = 2 ** 30; // of a column in a row group, unpacked: it is in memory

const listOf = (value: ThriftValue | undefined): readonly ThriftValue[] => Array.isArray(value) ? value : [];
const structOf = (value: ThriftValue | undefined): ThriftStruct =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? value as ThriftStruct : {};
const countOf = (value: ThriftValue | undefined): number => {
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0) return value;
  throw new Error("one of its sizes is missing or impossible");
};

/** Throws if the metadata at the end of the file is not what a reader may believe. */
export async function checkMetadata(input: ByteInput): Promise<void> {
  const tail = await input.range(Math.max(0, input.bytes - 8), input.bytes);
  if (tail.length < 8) throw new Error("it is too short");
  const length = new DataView(tail.buffer, tail.byteOffset).getUint32(0, true);
  if (length > mostMetadata || length > input.bytes - 8) throw new Error(`its metadata claims ${length} bytes`);
  const { value } = readThrift(await input.range(input.bytes - 8 - length, input.bytes - 8), 0);
  const elements = listOf(value[2]).map(structOf);
  const groups = listOf(value[4]).map(structOf);
  const chunks = groups.reduce((sum, group) => sum + listOf(group[1]).length, 0);
  if (elements.length > mostElements || elements.length * chunks > mostPlanned) {
    throw new Error(`it has ${elements.length} columns in ${groups.length} row groups, more than iota reads`);
  }
  checkSchema(elements);
  for (const group of groups) {
    if (countOf(group[3]) > mostRows) throw new Error(`a row group has ${group[3]} rows, of at most ${mostRows}`);
  }
}

/** A tree in depth-first order: every parent has as many children as it says, and nothing is left. */
function checkSchema(elements: readonly ThriftStruct[]): void {
  const open: number[] = [1]; // children still to come, by depth
  for (const element of elements) {
    while (open.at(-1) === 0) open.pop();
    if (open.length === 0 || open.length > deepest) throw new Error("its columns are nested too deeply or damaged");
    open[open.length - 1]! -= 1;
    open.push(element[5] === undefined ? 0 : countOf(element[5]));
  }
  if (open.some((left) => left > 0)) throw new Error("its list of columns is cut off");
}

/** The pages of a column chunk, `bytes`, as their headers claim them. */
export function checkPages(bytes: Uint8Array): void {
  let values = 0;
  for (let at = 0; at < bytes.length - 1;) {
    const { value: header, end } = readThrift(bytes, at);
    const packed = countOf(header[3]);
    countOf(header[2]);
    const ofPage = [header[5], header[7], header[8]].map(structOf).find((part) => part[1] !== undefined) ?? {};
    values += countOf(ofPage[1]);
    if (values > mostRows) throw new Error(`a column of a row group has more than ${mostRows} values`);
    at = end + packed;
  }
}

type Unpack = (packed: Uint8Array, length: number) => Uint8Array;

/** The library's unpackers, and the runtime's where it has them; together they give at most `groupLimitBytes`. */
export function boundedUnpackers(others: Readonly<Record<string, Unpack>>): Record<string, Unpack> {
  let left = groupLimitBytes;
  const bounded = (unpack: Unpack): Unpack => (packed, length) => {
    left -= countOf(length);
    if (left < 0) throw new Error(`a row group has more than ${groupLimitBytes} bytes of the column`);
    return unpack(packed, length);
  };
  const own: Record<string, Unpack> = {
    GZIP: (packed, length) => new Uint8Array(gunzipSync(packed, { maxOutputLength: Math.max(1, length) })),
    BROTLI: (packed, length) => new Uint8Array(brotliDecompressSync(packed, { maxOutputLength: Math.max(1, length) })),
    ZSTD: (packed, length) => new Uint8Array(zstdDecompressSync(packed, { maxOutputLength: Math.max(1, length) })),
  };
  return Object.fromEntries(Object.entries({ ...others, ...own }).map(([name, unpack]) => [name, bounded(unpack)]));
}
