/** The only place in cli that names concrete stores. */

import { DiskBlobs, type DiskBlobsOptions } from "../../net/blobs/blob_disk.ts";
import { HttpBlobs, type HttpBlobsOptions } from "../../net/blobs/blob_http.ts";
import { MemoryBlobs } from "../../net/blobs/blob_memory.ts";
import { DiskUploads, type DiskUploadsOptions } from "../../net/blobs/blob_uploads.ts";
import { outboundFetch } from "../program/outbound.ts";
import type { BlobCapacity, BlobStore, KeptUploads, LocalBlobStore } from "../../net/blobs/blobs.ts";

export function openRunStore(options: DiskBlobsOptions): Promise<LocalBlobStore> {
  return DiskBlobs.open(options);
}

export function openRunUploads(options: DiskUploadsOptions): Promise<KeptUploads> {
  return DiskUploads.open(options);
}

export function remoteStore(options: HttpBlobsOptions): BlobStore {
  return new HttpBlobs({ fetch: outboundFetch, ...options });
}

export function peerStore(capacity: BlobCapacity): MemoryBlobs {
  return new MemoryBlobs(capacity);
}
