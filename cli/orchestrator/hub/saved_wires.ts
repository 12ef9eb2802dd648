/**
 * The wires that a stopped orchestrator held, on disk until its restart. One file: a JSON line with their lengths, then
 * their bytes. They are read back by hash; damaged ones are recomputed.
 */

import type { BlobHash } from "../../../core/ids.ts";
import { hashOf } from "../../../net/blob_hash.ts";
import { readIfPresent, realDisk, writeAtomically } from "../../files/disk.ts";
import { wiresFile } from "../../files/run_folder.ts";

const mostWires = 2 ** 20;

export async function saveWires(folder: string, wires: readonly Uint8Array[]): Promise<void> {
  const path = `${folder}/${wiresFile}`;
  if (wires.length === 0) return await realDisk.remove(path);
  const header = `${JSON.stringify(wires.map((bytes) => bytes.length))}\n`;
  await writeAtomically(path, { disk: realDisk, chunks: [new TextEncoder().encode(header), ...wires] });
}

export async function keepWires(
  folder: string,
  { wires, warn }: { wires: readonly Uint8Array[]; warn: (text: string) => void },
): Promise<void> {
  await saveWires(folder, wires).catch((error: Error) =>
    warn(`Part of the open step will be computed again because the wires could not be saved: ${error.message}`)
  );
}

/** By hash. Removes the file: it is valid for one restart. */
export async function takeWires(folder: string): Promise<ReadonlyMap<BlobHash, Uint8Array>> {
  const path = `${folder}/${wiresFile}`;
  const file = await readIfPresent(path);
  if (file === null) return new Map();
  const found = new Map<BlobHash, Uint8Array>();
  const end = file.indexOf(0x0a);
  let offset = end + 1;
  for (const length of lengthsOf(file.subarray(0, Math.max(end, 0)))) {
    const bytes = file.subarray(offset, offset + length);
    offset += length;
    if (bytes.length === length) found.set(hashOf(bytes), bytes);
  }
  await realDisk.remove(path);
  return found;
}

function lengthsOf(header: Uint8Array): number[] {
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(header));
    const isList = Array.isArray(value) && value.length <= mostWires;
    return isList && value.every((each) => Number.isSafeInteger(each) && each > 0) ? value : [];
  } catch {
    return []; // unreadable header
  }
}
