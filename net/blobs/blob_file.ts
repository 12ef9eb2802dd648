/** Local files as the stores read them. */

import { type BlobHash } from "../../core/ids.ts";
import { BlobMeter, type MeteredBlob } from "./blobs.ts";

const chunkBytes = 256 * 1024;

export async function* chunksOf(file: Deno.FsFile, bytes: number): AsyncGenerator<Uint8Array> {
  for (let left = bytes; left > 0;) {
    const chunk = new Uint8Array(Math.min(chunkBytes, left));
    const count = await file.read(chunk);
    if (count === null) return;
    left -= count;
    yield chunk.subarray(0, count);
  }
}

export async function meterFile(
  file: Deno.FsFile,
  { blobBytes, expected }: { blobBytes: number; expected?: BlobHash | undefined },
): Promise<MeteredBlob> {
  const meter = new BlobMeter(blobBytes);
  for await (const chunk of chunksOf(file, (await file.stat()).size)) meter.add(chunk);
  return meter.finish(expected);
}

/** Removes the file whether or not `take` succeeded. */
export async function consumeFile<T>(path: string, take: () => Promise<T>): Promise<T> {
  try {
    return await take();
  } finally {
    await Deno.remove(path).catch(ignoreMissing);
  }
}

export function ignoreMissing(error: unknown): void {
  if (!(error instanceof Deno.errors.NotFound)) throw error;
}
