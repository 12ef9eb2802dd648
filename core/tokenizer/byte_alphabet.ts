/**
 * GPT-2's printable stand-ins for bytes in `tokenizer.json`: printable Latin-1 bytes stand for themselves, the others
 * become U+0100, U+0101, … (a space is Ġ, a line break Ċ).
 */

import { present } from "../assert.ts";
import { byteTokens } from "./bpe_model.ts";

const isPrintable = (byte: number): boolean =>
  (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;

const characters: string[] = [];
const byteOf = new Int16Array(2 * byteTokens).fill(-1); // by UTF-16 unit; -1: it stands for no byte
for (let byte = 0, next = 0x100; byte < byteTokens; byte++) {
  const unit = isPrintable(byte) ? byte : next++;
  characters.push(String.fromCharCode(unit));
  byteOf[unit] = byte;
}

export function spellBytes(token: Uint8Array): string {
  return Array.from(token, (byte) => present(characters[byte], "A byte must have its character")).join("");
}

/** Null: a character stands for no byte. */
export function readSpelling(spelling: string): Uint8Array | null {
  const bytes = new Uint8Array(spelling.length);
  for (let i = 0; i < spelling.length; i++) {
    const byte = byteOf[spelling.charCodeAt(i)] ?? -1;
    if (byte < 0) return null;
    bytes[i] = byte;
  }
  return bytes;
}
