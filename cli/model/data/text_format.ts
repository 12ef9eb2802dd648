/**
 * What a file that is not plain text is, told by its content, and the command that makes text of it.
 *
 * Unclear texts count as prose. Encodings of one byte a character cannot be told apart: `encodingOf` names the most
 * common.
 */

import { plural } from "../../terminal/text/format.ts";
import { shellWord, shellWords } from "../../program/shell_words.ts";
import { findJson, type JsonText } from "./json_text.ts";
import { knownFormat } from "./signatures.ts";
import { findTable, type Table } from "./table_text.ts";

interface NotText {
  readonly found: string;
  readonly next: string;
}

/** Null: nothing speaks against text in UTF-8, whose bytes may still be wrong. */
export function binaryFormat(bytes: Uint8Array, path: string): NotText | null {
  const known = knownFormat(bytes);
  const encoding = known === null ? wideEncoding(bytes) : null;
  if (encoding !== null) return { found: `it is ${encoding}`, next: conversion(encoding, path) };
  if (known !== null) return { found: `it is ${known.kind}`, next: known.next(path) };
  return hasControls(bytes) ? notText : zeroBytes(bytes, path);
}

const sampleBytes = 65_536;
const notText: NotText = { found: "it is a binary file", next: "Pass a text file" };
const mostControls = 0.01; // of the bytes

/** Zero bytes may be a hole in a text. ESC and backspace are in logs of terminals and in manuals. */
function hasControls(bytes: Uint8Array): boolean {
  const sample = bytes.subarray(0, sampleBytes).filter((byte) => byte !== 0);
  return sample.filter((byte) => byte < 8 || (byte > 13 && byte < 32 && byte !== 27)).length >
    mostControls * sample.length;
}

/** A crash, a full disk or an interrupted download leaves blocks of them. */
function zeroBytes(bytes: Uint8Array, path: string): NotText | null {
  const first = bytes.indexOf(0);
  if (first < 0) return null;
  let count = 0;
  for (let at = first; at >= 0; at = bytes.indexOf(0, at + 1)) count += 1;
  return {
    found: `${count} of its ${bytes.length} bytes are zero, the first at ${first}`,
    next: "Get the file again: part of it was not written. Or leave those bytes out: " +
      `tr -d '\\000' < ${shellWord(path)} > ${shellWord(`${path}.txt`)}`,
  };
}

/** `bad`: the offset of the first byte that is not UTF-8. */
export function encodingOf(bytes: Uint8Array, { bad, path }: { bad: number; path: string }): NotText {
  const found = `byte ${bad} is not`;
  if (bad > 0 && isMostlyUtf8(bytes.subarray(0, bad))) {
    const next = `It is UTF-8 until there. Get the file again, or leave wrong bytes out: ${
      shellWords(["iconv", "-c", "-f", "utf-8", "-t", "utf-8", path])
    } > ${shellWord(`${path}.txt`)}`;
    return { found, next };
  }
  return { found, next: conversion("latin1", path) };
}

/** `good`: valid UTF-8. Latin-1 text makes no characters of several bytes by chance. */
const isMostlyUtf8 = (good: Uint8Array): boolean => good.some((byte) => byte > 0x7f) && !startsWithMarkOnly(good);

const startsWithMarkOnly = (good: Uint8Array): boolean =>
  good[0] === 0xef && good[1] === 0xbb && good[2] === 0xbf && !good.subarray(3).some((byte) => byte > 0x7f);

const conversion = (encoding: string, path: string): string =>
  `Convert it first, for example with: ${shellWords(["iconv", "-f", encoding, "-t", "utf-8", path])} > ${
    shellWord(`${path}.utf8`)
  }`;

interface RecordsFound {
  readonly refused: NotText | null;
  /** Why it may not be prose. */
  readonly doubt: string | null;
}

/** Records instead of prose: their braces, names and commas would be learnt as text. */
export function findRecords(text: string, path: string): RecordsFound {
  const json = findJson(text);
  if (json?.type === "json") return { refused: jsonRefusal(json.json, path), doubt: null };
  if (json?.type === "unclear") return { refused: null, doubt: json.what };
  const table = findTable(text);
  if (table?.type === "table") return { refused: tableRefusal(table.table, path), doubt: null };
  if (table === null) return { refused: null, doubt: null };
  const { delimiter, records, columns } = table;
  const marks = columns === 2 ? `one ${delimiterNames[delimiter]}` : `${columns - 1} ${delimiterNames[delimiter]}s`;
  return { refused: null, doubt: `each of its first ${records} lines has ${marks}, as a table's would` };
}

const separated = "<|endoftext|>";
const delimiterNames = { ",": "comma", ";": "semicolon", "\t": "tab", "|": "bar" };

function jsonRefusal({ isLines, kind, texts }: JsonText, path: string): NotText {
  const program = `${texts} + "\\n${separated}"`;
  return {
    found: `it is ${isLines ? "JSON Lines" : "JSON"}, ${kind}`,
    next: `Take the texts out: ${shellWords(["jq", "-r", program, path])} > ${shellWord(`${path}.txt`)}`,
  };
}

function tableRefusal({ columns, delimiter, index, hasNames, isSpaced }: Table, path: string): NotText {
  const written = delimiter === "," ? "" : `,delimiter='${delimiter === "\t" ? "\\t" : delimiter}'`;
  const rows = `csv.reader(open(sys.argv[1],encoding='utf-8-sig',newline='')${written}${
    isSpaced ? ",skipinitialspace=True" : ""
  })`;
  const program = "import csv,sys;csv.field_size_limit(2**30);" +
    `[print(row[${index}],'${separated}',sep='\\n') for row in list(${rows})${
      hasNames ? "[1:]" : ""
    } if len(row)>${index}]`;
  const name = delimiter === "," ? "CSV" : delimiter === "\t" ? "TSV" : `separated by ${delimiterNames[delimiter]}s`;
  return {
    found: `it is a table of ${plural(columns, "column")} (${name})`,
    next: `Take the column with the text out: ${shellWords(["python3", "-c", program, path])} > ${
      shellWord(`${path}.txt`)
    }`,
  };
}

/** By its mark or by decoding. */
type WideEncoding = "UTF-16" | "UTF-32" | "UTF-16LE" | "UTF-16BE"; // a mark says the order of the bytes

const leastText = 0.95; // of the characters: a few may be newer than this program's tables
const mostSwapped = 0.1; // of the blanks

/** Null: it is not, or the bytes say nothing. */
function wideEncoding(bytes: Uint8Array): WideEncoding | null {
  const [a, b, c, d] = bytes;
  if (a === 0xff && b === 0xfe) return c === 0 && d === 0 ? "UTF-32" : "UTF-16";
  if (a === 0xfe && b === 0xff) return "UTF-16";
  if (a === 0 && b === 0 && c === 0xfe && d === 0xff) return "UTF-32";
  const sample = bytes.subarray(0, Math.min(sampleBytes, bytes.length & ~1));
  if (!sample.includes(0) || isNarrow(sample)) return null;
  if (isText(sample, "utf-16le")) return "UTF-16LE";
  return isText(sample, "utf-16be") ? "UTF-16BE" : null;
}

/** ASCII with zero bytes here and there: where it is decoded in pairs, it would look like Chinese. */
function isNarrow(sample: Uint8Array): boolean {
  const rest = sample.filter((byte) => byte !== 0);
  return rest.length > 0.75 * sample.length && rest.every((byte) => byte < 0x80 && (byte >= 0x20 || isBlank(byte)));
}

const isBlank = (byte: number): boolean => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;

function isText(sample: Uint8Array, encoding: "utf-16le" | "utf-16be"): boolean {
  const text = new TextDecoder(encoding).decode(sample);
  if (text.includes("\0")) return false;
  const count = (sign: RegExp) => text.match(sign)?.length ?? 0;
  const blanks = count(/[ \n\r]/g);
  return blanks > 0 && count(/[\u2000\u0a00\u0d00]/g) <= mostSwapped * blanks &&
    count(/[\p{L}\p{M}\p{N}\p{P}\p{S}\p{Zs}\n\r\t]/gu) >= leastText * [...text].length;
}
