/** SHA-256 as lower-case hex, of bytes in memory and of files of any size. */

import { createHash } from "node:crypto";
import { piecesInTurns } from "../../net/turns.ts";
import { attempting } from "../program/errors.ts";

export function sha256Hex(...parts: readonly (Uint8Array | string)[]): string {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return hash.digest("hex");
}

const bytesOfTurn = 4 * 1024 * 1024; // 10 ms on a slow machine

/** The same for vectors of any size, on a thread that keeps serving links (net/turns.ts). */
export async function sha256InTurns(parts: readonly Uint8Array[]): Promise<string> {
  const hash = createHash("sha256");
  for (const part of parts) {
    for await (const piece of piecesInTurns(part, bytesOfTurn)) hash.update(piece);
  }
  return hash.digest("hex");
}

export interface FileDigest {
  readonly sha256: string;
  readonly bytes: number;
}

/** Reads the file in pieces, so its size does not matter. */
export function digestFile(path: string): Promise<FileDigest> {
  return attempting({ action: "read", value: path }, async () => {
    const hash = createHash("sha256");
    let bytes = 0;
    const file = await Deno.open(path, { read: true });
    for await (const chunk of file.readable) {
      hash.update(chunk);
      bytes += chunk.length;
    }
    return { sha256: hash.digest("hex"), bytes };
  });
}
