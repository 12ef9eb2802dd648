/**
 * The work of turning text into tokens, cut into jobs that any thread can do: a job holds some megabytes of documents, its
 * result the tokens of either side. Jobs follow from the text alone, so results are the same with any number of threads.
 */

import { concatenate } from "../../../net/blobs/blobs.ts";
import type { Tokenizer } from "../../../core/tokenizer/tokenizer.ts";
import type { TokenBytes } from "../data/token_file.ts";
import { tokensAsBytes } from "../data/token_file.ts";
import { type Part, partsOf, type SplitRule } from "./split.ts";
import type { Spool } from "./spool.ts";

export interface JobPart {
  readonly bytes: number;
  readonly isHeldOut: boolean;
  readonly endsDocument: boolean;
}

export interface EncodeJob {
  readonly parts: readonly JobPart[];
  readonly text: Uint8Array<ArrayBuffer>; // of the parts, one after another
}

export interface EncodedJob {
  readonly train: Uint8Array<ArrayBuffer>; // tokens as on disk
  readonly heldOut: Uint8Array<ArrayBuffer>;
}

export const jobBytesDefault = 2 ** 22; // tokens of some seconds, and little memory

/** `weightOf`: how often a source's training documents are used; a fraction means by chance, which their keys decide. */
export function* jobsOf(
  { text, index }: { text: Spool; index: Spool },
  rule: SplitRule,
  { weightOf, jobBytes }: { weightOf: (source: number) => number; jobBytes: number },
): Generator<EncodeJob> {
  let parts: Part[] = [];
  let bytes = 0;
  for (const part of usedParts(index, rule, weightOf)) {
    parts.push(part);
    bytes += part.bytes;
    if (bytes < jobBytes) continue;
    yield jobWith(parts, text);
    parts = [];
    bytes = 0;
  }
  if (parts.length > 0) yield jobWith(parts, text);
}

/** A copy of a document is far from it: each pass over the text uses a document once at most. */
function* usedParts(index: Spool, rule: SplitRule, weightOf: (source: number) => number): Generator<Part> {
  for (let pass = 0, goesOn = true; goesOn; pass++) {
    goesOn = false;
    for (const part of partsOf(index, rule)) {
      if (part.side === "heldOut" ? pass === 0 && weightOf(part.source) > 0 : part.side === "train") {
        const copies = part.side === "heldOut" ? 1 : copiesOf(part, weightOf(part.source));
        if (copies > pass) yield part;
        goesOn ||= copies > pass + 1;
      }
    }
  }
}

function copiesOf({ key: [, low] }: Part, weight: number): number {
  const whole = Math.floor(weight);
  return whole + (low / 2 ** 32 < weight - whole ? 1 : 0);
}

function jobWith(parts: readonly Part[], text: Spool): EncodeJob {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.bytes, 0));
  let at = 0;
  for (const { from, bytes: count } of parts) {
    bytes.set(text.read(from, from + count), at);
    at += count;
  }
  return {
    parts: parts.map(({ bytes, side, endsDocument }) => ({ bytes, endsDocument, isHeldOut: side === "heldOut" })),
    text: bytes,
  };
}

export function encodeJob(
  { parts, text }: EncodeJob,
  { tokenizer, tokenBytes }: { tokenizer: Tokenizer; tokenBytes: TokenBytes },
): EncodedJob {
  const tokens: { train: Uint8Array<ArrayBuffer>[]; heldOut: Uint8Array<ArrayBuffer>[] } = { train: [], heldOut: [] };
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  let at = 0;
  for (const { bytes, isHeldOut, endsDocument } of parts) {
    const ids = tokenizer.encode(decoder.decode(text.subarray(at, at + bytes)));
    if (endsDocument) ids.push(tokenizer.endOfText);
    (isHeldOut ? tokens.heldOut : tokens.train).push(tokensAsBytes(ids, tokenBytes));
    at += bytes;
  }
  return { train: joined(tokens.train), heldOut: joined(tokens.heldOut) };
}

const joined = (parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> =>
  concatenate(parts, parts.reduce((sum, part) => sum + part.length, 0));
