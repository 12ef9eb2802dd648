/**
 * The orchestrator's store of a swarm in one process: blobs in memory, dropped when a sweep finds them unused twice, as
 * on disk.
 */

import type { BlobHash, BlobRef } from "../../../core/ids.ts";
import { refOf } from "../../../net/blob_hash.ts";
import { missing } from "../../../net/blobs/blobs.ts";
import type { HubBlobs } from "../../../cli/roles/blob_access.ts";

export class MemoryHubBlobs implements HubBlobs {
  readonly held = new Map<string, Uint8Array>();
  #unused: ReadonlySet<string> = new Set();

  put(bytes: Uint8Array): Promise<BlobRef> {
    const ref = refOf(bytes);
    this.held.set(ref.hash, bytes.slice());
    return Promise.resolve(ref);
  }

  get(ref: BlobRef): Promise<Uint8Array> {
    const bytes = this.held.get(ref.hash);
    return bytes === undefined ? Promise.reject(missing(ref.hash, "memory")) : Promise.resolve(bytes);
  }

  delete(hash: BlobHash): Promise<void> {
    this.held.delete(hash);
    return Promise.resolve();
  }

  sweep(used: ReadonlySet<string>): Promise<void> {
    const unused = new Set([...this.held.keys()].filter((hash) => !used.has(hash)));
    for (const hash of unused) if (this.#unused.has(hash)) this.held.delete(hash);
    this.#unused = unused;
    return Promise.resolve();
  }
}
