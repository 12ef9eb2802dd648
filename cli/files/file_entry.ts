/** A file entry of a manifest. Names are plain: a manifest from elsewhere cannot reach outside its folder. */

import * as v from "valibot";
import { type Disk, isFile, writeAtomically } from "./disk.ts";
import { createHash } from "node:crypto";
import { piecesInTurns } from "../../net/turns.ts";
import { attempting } from "../program/errors.ts";

export const sha256Shape = v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/, "must be 64 hexadecimal digits"));
export const countShape = v.pipe(v.number(), v.safeInteger(), v.minValue(0));

export const fileEntryShape = v.object({
  name: v.pipe(v.string(), v.regex(/^\w[\w.-]*$/, "must be a plain file name")),
  sha256: sha256Shape,
  bytes: countShape,
});

export type FileEntry = Readonly<v.InferOutput<typeof fileEntryShape>>;

export async function writeEntry(
  path: { folder: string; name: string },
  options: { disk: Disk; chunks: readonly Uint8Array[] },
): Promise<FileEntry> {
  await writeAtomically(`${path.folder}/${path.name}`, options);
  const bytes = options.chunks.reduce((sum, chunk) => sum + chunk.length, 0);
  return { name: path.name, sha256: await sha256InTurns(options.chunks), bytes };
}

async function entryProblem(folder: string, entry: FileEntry): Promise<string | null> {
  const path = `${folder}/${entry.name}`;
  if (!(await isFile(path))) return `${entry.name} is missing`;
  const { size } = await attempting({ action: "read", value: path }, () => Deno.stat(path));
  if (size !== entry.bytes) return `${entry.name} must have ${entry.bytes} bytes, but has ${size}`;
  const found = await digestFile(path);
  if (found.bytes !== entry.bytes) return `${entry.name} must have ${entry.bytes} bytes, but has ${found.bytes}`;
  if (found.sha256 !== entry.sha256) return `${entry.name} must have the hash ${entry.sha256}, but has ${found.sha256}`;
  return null;
}

export async function firstProblem(folder: string, entries: readonly FileEntry[]): Promise<string | null> {
  for (const entry of entries) {
    const problem = await entryProblem(folder, entry);
    if (problem !== null) return problem;
  }
  return null;
}

export function sha256Hex(...parts: readonly (Uint8Array | string)[]): string {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return hash.digest("hex");
}

const bytesOfTurn = 4 * 1024 * 1024; // 10 ms on a slow machine

export async function sha256InTurns(parts: readonly Uint8Array[]): Promise<string> {
  const hash = createHash("sha256");
  for (const part of parts) {
    for await (const piece of piecesInTurns(part, bytesOfTurn)) hash.update(piece);
  }
  return hash.digest("hex");
}

interface FileDigest {
  readonly sha256: string;
  readonly bytes: number;
}

function digestFile(path: string): Promise<FileDigest> {
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
