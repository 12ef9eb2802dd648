/** Tells a lost blob (gone, or not matching its hash) from other failures. */

import type { BlobRef } from "../../../core/ids.ts";
import { BlobError } from "../../../net/blobs/blobs.ts";
import type { BlobAccess } from "../../roles/blob_access.ts";

export function isLostBlob(error: unknown): boolean {
  return error instanceof BlobError && (error.code === "missing" || error.code === "wrongHash");
}

export async function unlessLost<T>(work: Promise<T>): Promise<T | null> {
  try {
    return await work;
  } catch (error) {
    if (isLostBlob(error)) return null;
    throw error;
  }
}

export async function lostAmong(blobs: BlobAccess, refs: readonly BlobRef[]): Promise<BlobRef[]> {
  const lost: BlobRef[] = [];
  for (const ref of refs) if (await unlessLost(blobs.get(ref)) === null) lost.push(ref);
  return lost;
}
