/**
 * What a file that is not plain text is, told by its content, and the command that makes text of it.
 *
 * Owns: the first bytes of common formats, and how UTF-16, zero bytes and records (JSON, CSV) look. A file's name counts for nothing.
 * Text in an encoding of one byte a character cannot be told from another such encoding: `encodingOf` names the most common one.
 */

import { shellWord, shellWords } from "../shell_words.ts";
import { csvColumn, jsonField } from "./record_text.ts";

/** Why a file cannot be trained on as it is. */
export interface NotText {
  readonly found: string; // "it is compressed with gzip"
  readonly next: string;
}

interface Signature {
  readonly bytes: string;
  readonly at?: number; // default: 0
  readonly kind: string;
  readonly next: (path: string) => string;
}

const textPath = (path: string) => `${path.replace(/\.(gz|bz2|xz|zst|lz4|zip|7z|rar|tar|pdf|rtf)$/i, "")}.txt`;
const piped = (...words: string[]) => (path: string) =>
  `Unpack it: ${shellWords([...words, path])} > ${shellWord(textPath(path))}`;
const unpacked = (...words: string[]) => (path: string) =>
  `Unpack it, and pass one text file that was inside: ${shellWords([...words, path])}`;
const exported = (what: string) => () => `Export its text to a file first, ${what}`;

const signatures: readonly Signature[] = [
  { bytes: "\x1f\x8b", kind: "compressed with gzip", next: piped("gzip", "-dc") },
  { bytes: "BZh", kind: "compressed with bzip2", next: piped("bzip2", "-dc") },
  { bytes: "\xfd7zXZ\0", kind: "compressed with xz", next: piped("xz", "-dc") },
  { bytes: "\x28\xb5\x2f\xfd", kind: "compressed with zstd", next: piped("zstd", "-dc") },
  { bytes: "\x04\x22\x4d\x18", kind: "compressed with lz4", next: piped("lz4", "-dc") },
  {
    bytes: "PK\x03\x04",
    kind: "a ZIP archive, as Word, OpenDocument and EPUB files are too",
    next: (path) => `${unpacked("unzip")(path)}. Of a document or a book, save the text from its program instead`,
  },
  { bytes: "7z\xbc\xaf\x27\x1c", kind: "a 7-Zip archive", next: unpacked("7z", "x") },
  { bytes: "Rar!\x1a\x07", kind: "a RAR archive", next: unpacked("unrar", "x") },
  { bytes: "ustar", at: 257, kind: "a tar archive", next: unpacked("tar", "-xf") },
  {
    bytes: "%PDF-",
    kind: "a PDF document",
    next: (path) => `Take its text out: ${shellWords(["pdftotext", path, textPath(path)])}`,
  },
  { bytes: "{\\rtf", kind: "an RTF document", next: exported("from the program that wrote it") },
  { bytes: "\xd0\xcf\x11\xe0", kind: "an old Office document", next: exported("from the program that wrote it") },
  {
    bytes: "PAR1",
    kind: "a Parquet table",
    next: exported("with <|endoftext|> on a line of its own between the texts"),
  },
  {
    bytes: "ARROW1",
    kind: "an Arrow table",
    next: exported("with <|endoftext|> on a line of its own between the texts"),
  },
  { bytes: "SQLite format 3\0", kind: "an SQLite database", next: exported("with sqlite3") },
  { bytes: "\x89HDF", kind: "an HDF5 file", next: exported("with its own tools") },
  { bytes: "\x93NUMPY", kind: "a NumPy array", next: exported("the text that its numbers were made of") },
  { bytes: "\x89PNG", kind: "a picture (PNG)", next: exported("for example with tesseract") },
  { bytes: "\xff\xd8\xff", kind: "a picture (JPEG)", next: exported("for example with tesseract") },
  { bytes: "\x7fELF", kind: "a program", next: () => "Pass a text file" },
];

/** Null: nothing speaks against text in UTF-8, whose bytes may still be wrong. */
export function binaryFormat(bytes: Uint8Array, path: string): NotText | null {
  const head = Array.from(bytes.subarray(0, 300), (byte) => String.fromCharCode(byte)).join("");
  const encoding = wideEncoding(bytes);
  if (encoding !== null) return { found: `it is ${encoding}`, next: conversion(encoding, path) };
  const known = signatures.find(({ bytes: first, at = 0 }) => head.startsWith(first, at));
  if (known !== undefined) return { found: `it is ${known.kind}`, next: known.next(path) };
  return zeroBytes(bytes, path);
}

const sampleBytes = 65_536;

/** UTF-16 and UTF-32, by their mark or, of mostly Latin text, by the half of the bytes that is zero. */
function wideEncoding(bytes: Uint8Array): string | null {
  const [a, b, c, d] = bytes;
  if (a === 0xff && b === 0xfe) return c === 0 && d === 0 ? "UTF-32" : "UTF-16"; // the mark says the order of the bytes
  if (a === 0xfe && b === 0xff) return "UTF-16";
  if (a === 0 && b === 0 && c === 0xfe && d === 0xff) return "UTF-32";
  const sample = bytes.subarray(0, sampleBytes);
  const zeros = [0, 0];
  for (let i = 0; i < sample.length; i++) if (sample[i] === 0) zeros[i % 2]! += 1;
  const [even, odd] = zeros.map((count) => count / (sample.length / 2)) as [number, number];
  if (odd > 0.5 && even < 0.1) return "UTF-16LE";
  return even > 0.5 && odd < 0.1 ? "UTF-16BE" : null;
}

/** Blocks of them are left by a crash, a full disk or a download that was cut off. */
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
  const sample = bytes.subarray(0, sampleBytes);
  const controls = sample.filter((byte) => byte < 32 && byte !== 9 && byte !== 10 && byte !== 12 && byte !== 13).length;
  if (controls > 0.01 * sample.length) return { found: "it is a binary file", next: "Pass a text file" };
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

/** Records instead of prose: their braces, names and commas would be learnt as text. */
export function recordFormat(text: string, path: string): NotText | null {
  const separated = `${shellWord(`${path}.txt`)}`;
  const json = jsonField(text);
  if (json !== null) {
    const { field, isLines } = json;
    const [kind, each] = isLines ? ["JSON Lines", ""] : ["JSON", ".. | objects | "];
    const program = `${each}.${field} // empty | tostring + "\\n<|endoftext|>"`;
    return {
      found: `it is ${kind}, records with fields`,
      next: `Take the field with the text out: ${shellWords(["jq", "-r", program, path])} > ${separated}`,
    };
  }
  const column = csvColumn(text);
  if (column === null) return null;
  const program = "import csv,sys;csv.field_size_limit(2**30);" +
    `[print(row[${column.index}],'<|endoftext|>',sep='\\n') for row in list(csv.reader(open(sys.argv[1],encoding='utf-8',newline='')` +
    `${column.delimiter === "\t" ? ",delimiter='\\t'" : ""}))[1:]]`;
  return {
    found: `it is a table of ${column.columns} columns (${column.delimiter === "\t" ? "TSV" : "CSV"})`,
    next: `Take the column with the text out: ${shellWords(["python3", "-c", program, path])} > ${separated}`,
  };
}
