/**
 * What a file that this program cannot read is, told by its first bytes, and the command that makes text of it.
 *
 * Unclear texts count as prose. Encodings of one byte a character cannot be told apart: `encodingOf` names the most
 * common.
 */

import { plural } from "../../terminal/text/format.ts";
import { shellWord, shellWords } from "../../program/shell_words.ts";
import { knownFormat } from "./signatures.ts";
import { columnsOf } from "./table_text.ts";

interface NotText {
  readonly found: string;
  readonly next: string;
}

/** Null: nothing in its beginning speaks against text in UTF-8, or in UTF-16 with its mark. */
export function binaryFormat(head: Uint8Array, path: string): NotText | null {
  const known = knownFormat(head);
  if (known === null && isMarkedUtf16(head)) return null;
  const encoding = known === null ? wideEncoding(head) : null;
  if (encoding !== null) return { found: `it is ${encoding}`, next: conversion(encoding, path) };
  if (known !== null) return { found: `it is ${known.kind}`, next: known.next(path) };
  return hasControls(head) ? notText : null;
}

const isMarkedUtf16 = ([a, b, c, d]: Uint8Array): boolean =>
  (a === 0xff && b === 0xfe && (c !== 0 || d !== 0)) || (a === 0xfe && b === 0xff);

const sampleBytes = 65_536;
const notText: NotText = { found: "it is a binary file", next: "Pass a text file" };
const mostControls = 0.01; // of the bytes

/** Zero bytes may be a hole in a text. ESC and backspace are in logs of terminals and in manuals. */
function hasControls(bytes: Uint8Array): boolean {
  const sample = bytes.subarray(0, sampleBytes).filter((byte) => byte !== 0);
  return sample.filter((byte) => byte < 8 || (byte > 13 && byte < 32 && byte !== 27)).length >
    mostControls * sample.length;
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

interface Records {
  readonly found: string;
  readonly format: "json" | "jsonl" | "csv";
}

/** Records instead of prose: their braces, names and commas would be learnt as text. Null: it may be prose. */
export function recordsIn(head: Uint8Array): Records | null {
  const decoder = new TextDecoder(head[0] === 0xff ? "utf-16le" : head[0] === 0xfe ? "utf-16be" : "utf-8");
  const text = decoder.decode(head).trimStart();
  if (recordStart.test(text)) return { found: "it begins as a JSON record does", format: "jsonl" };
  if (listStart.test(text)) return { found: "it begins as a JSON list does", format: isList(text) ? "jsonl" : "json" };
  const columns = columnsOf(text);
  return columns === null ? null : { found: `it is a table of ${plural(columns, "column")}`, format: "csv" };
}

const string = String.raw`"(?:[^"\\\n]|\\.)*"`;
const field = String.raw`\{\s*${string}\s*:\s*(?:["{[\d-]|true|false|null)`;
const recordStart = new RegExp(`^${field}`);
const listStart = new RegExp(String.raw`^\[\s*(?:\[\s*)*(?:${field}|${string}\s*[,\]]|-?\d[\d.]*\s*,)`);

/** A line that is a list of its own. */
const isList = (text: string): boolean => /^\[.*\][^\S\n]*\n\s*\[/.test(text);

/** By its mark or by decoding. */
type WideEncoding = "UTF-32" | "UTF-16LE" | "UTF-16BE";

const leastText = 0.95; // of the characters: a few may be newer than this program's tables
const mostSwapped = 0.1; // of the blanks

/** Null: it is not, or the bytes say nothing. */
function wideEncoding(bytes: Uint8Array): WideEncoding | null {
  const [a, b, c, d] = bytes;
  if (a === 0xff && b === 0xfe && c === 0 && d === 0) return "UTF-32";
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
