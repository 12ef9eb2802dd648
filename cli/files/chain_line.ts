/**
 * The lines of a run's signed log, `ledger.jsonl`: JSON, each with its number and a hash over itself and all lines
 * before it.
 *
 *     {"line":7,"entry":{…},"hash":"…"}                       a fact (core/ledger/entry.ts)
 *     {"line":8,"signer":"…","signature":"…","hash":"…"}      the signer vouches for lines 1 to 7
 *     {"line":9,"previous":"…","entry":{"type":"carried",…},"hash":"…"}   begins a later file: names the hash of line 8
 *     {"lost":3}                                              lines that did not fit on the disk; a carried line follows
 *
 * hash = SHA-256(hash of the line before, in hexadecimal, then the line's own text up to the hash).
 */

import { createHash } from "node:crypto";
import type { LogEntry } from "../../core/ledger/entry.ts";
import type { NodeId } from "../../core/ids.ts";

export interface ChainHead {
  readonly line: number;
  readonly hash: string;
}

export const noLines: ChainHead = { line: 0, hash: "0".repeat(64) };

export type LineContent =
  | { readonly entry: LogEntry }
  | { readonly previous: string; readonly entry: Extract<LogEntry, { type: "carried" }> }
  | { readonly signer: NodeId; readonly signature: string };

export function chainLine(head: ChainHead, content: LineContent): { text: string; head: ChainHead } {
  const line = head.line + 1;
  const body = JSON.stringify({ line, ...content });
  const hash = hashOf(head.hash, body);
  return { text: `${body.slice(0, -1)},"hash":"${hash}"}`, head: { line, hash } };
}

export interface ReadLine {
  readonly line: number;
  readonly body: string;
  readonly hash: string;
  readonly content: LineContent;
}

const lineShape = /^(\{"line":\d+,.*),"hash":"([0-9a-f]{64})"\}$/s;

/** Null: not a line of a chain. Entries are not checked. */
export function readLine(text: string): ReadLine | null {
  const match = lineShape.exec(text);
  if (match === null) return null;
  const body = `${match[1]}}`;
  try {
    const { line, ...content } = JSON.parse(body) as { line: number } & LineContent;
    return { line, body, hash: match[2]!, content };
  } catch {
    return null;
  }
}

export function hashOf(previous: string, body: string): string {
  return createHash("sha256").update(previous).update(body).digest("hex");
}

export function signedText(run: string, { line, hash }: ChainHead): Uint8Array {
  return new TextEncoder().encode(`iota-log-1 ${run} ${line} ${hash}`);
}

/** Shows when lines were cut off the log's end. */
export interface SignedHead extends ChainHead {
  readonly run: string;
  readonly signer: NodeId;
  readonly signature: string;
}
