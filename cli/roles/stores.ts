/**
 * Which store serves each use of blobs: the only place in cli that names concrete stores.
 *
 * Everywhere else a blob store is the interface in net/blobs/blobs.ts. Another kind is a file beside the others in net/blobs,
 * which runs the conformance suite, and a line here.
 */

import { DiskBlobs, type DiskBlobsOptions } from "../../net/blobs/blob_disk.ts";
import { HttpBlobs, type HttpBlobsOptions } from "../../net/blobs/blob_http.ts";
import { MemoryBlobs } from "../../net/blobs/blob_memory.ts";
import { DiskUploads, type DiskUploadsOptions } from "../../net/blobs/blob_uploads.ts";
import { outboundFetch } from "../program/outbound.ts";
import type { BlobCapacity, BlobStore, KeptUploads, LocalBlobStore } from "../../net/blobs/blobs.ts";

/** The run's store, the orchestrator's own. */
export function openRunStore(options: DiskBlobsOptions): Promise<LocalBlobStore> {
  return DiskBlobs.open(options);
}

/** Unfinished uploads from members. */
export function openRunUploads(options: DiskUploadsOptions): Promise<KeptUploads> {
  return DiskUploads.open(options);
}

/** The store of another node, usually the orchestrator's. By the process's way out, unless its own `fetch` is given. */
export function remoteStore(options: HttpBlobsOptions): BlobStore {
  return new HttpBlobs({ fetch: outboundFetch, ...options });
}

/** The store that a node serves to its peers. */
export function peerStore(capacity: BlobCapacity): MemoryBlobs {
  return new MemoryBlobs(capacity);
}
