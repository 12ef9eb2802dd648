/**
 * Blobs as the roles use them: whole vectors by hash. Behind it the hub's HTTP store, its disk, or memory.
 */

import type { BlobRef } from "../../core/ids.ts";
import type { BlobStore, LocalBlobStore } from "../../net/blobs.ts";

export interface BlobAccess {
  put(bytes: Uint8Array): Promise<BlobRef>;
  /** The whole blob, checked against its hash; throws when it cannot be had. */
  get(ref: BlobRef): Promise<Uint8Array>;
}

/** The hub's own view of its store. */
export interface HubBlobs extends BlobAccess {
  /** Deleting what is not there is no error. */
  delete(ref: BlobRef): Promise<void>;
}

export function blobAccess(store: BlobStore): BlobAccess {
  return { put: (bytes) => store.put(bytes), get: (ref) => store.get(ref.hash) };
}

export function hubBlobs(store: LocalBlobStore): HubBlobs {
  return {
    ...blobAccess(store),
    delete: async (ref) => {
      await store.delete(ref.hash);
    },
  };
}

/** A blob is a vector of little-endian f32, as every machine we run on stores it. */
export function floatsOf(bytes: Uint8Array): Float32Array<ArrayBuffer> {
  const copy = new Uint8Array(bytes.byteLength);
  copy.set(bytes);
  return new Float32Array(copy.buffer);
}

export function bytesOfFloats(values: Float32Array): Uint8Array {
  return new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
}
