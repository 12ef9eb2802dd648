/**
 * Blobs as the roles use them: whole vectors by hash. Behind it the hub's HTTP store, its disk, or memory, and other nodes
 * that offer the same blob: they are asked first, the hub when they fail.
 */

import type { BlobHash, BlobRef } from "../../core/ids.ts";
import type { Peer } from "../../core/protocol/message.ts";
import type { BlobQuota } from "../../net/blob_quota.ts";
import { fetchBlob } from "../../net/blob_fetch.ts";
import type { BlobStore, LocalBlobStore } from "../../net/blobs.ts";
import type { FetchSource, SourceProblem } from "../../net/fetch_sources.ts";
import type { Timers } from "../../net/timers.ts";

export interface BlobAccess {
  put(bytes: Uint8Array): Promise<BlobRef>;
  /** The whole blob, checked against its hash; throws when it cannot be had. `peers`: nodes that may have it. */
  get(ref: BlobRef, peers?: readonly Peer[]): Promise<Uint8Array>;
}

/** The hub's own view of its store. */
export interface HubBlobs extends BlobAccess {
  /** Deleting what is not there is no error. */
  delete(hash: BlobHash): Promise<void>;
  /** Deletes what is not used and was not at the last sweep either: what is on its way to be named stays. */
  sweep(used: ReadonlySet<string>): Promise<void>;
}

/** How other nodes' stores are reached. */
export interface PeerAccess {
  /** Its address as `peerUrl` writes it. */
  readonly open: (peer: Peer) => BlobStore;
  readonly blobBytes: number;
  readonly timers: Timers;
  readonly onProblem: (problem: SourceProblem) => void;
}

const peersOfBlob = 8; // more would not be faster; the list comes from the network
const leavesUnderWay = 8;

/** Without `access`, or where no peers are named, every blob comes from the store. */
export function blobAccess(store: BlobStore, access: PeerAccess | null = null): BlobAccess {
  const put = (bytes: Uint8Array) => store.put(bytes);
  if (access === null) return { put, get: (ref) => store.get(ref.hash) };
  const opened = new Map<string, BlobStore>();
  const peerStore = (key: string, peer: Peer): BlobStore => {
    const known = opened.get(key) ?? access.open(peer);
    opened.delete(key);
    opened.set(key, known); // the newest last
    if (opened.size > 8 * peersOfBlob) opened.delete(opened.keys().next().value!);
    return known;
  };
  const get = async (ref: BlobRef, peers: readonly Peer[] = []) => {
    const reachable = new Map<string, Peer>();
    for (const { node, url } of peers.slice(0, peersOfBlob)) {
      const origin = peerUrl(url);
      if (origin !== null) reachable.set(`${node} ${origin}`, { node, url: origin });
    }
    if (reachable.size === 0) return await store.get(ref.hash);
    const sources: FetchSource[] = Array.from(
      reachable,
      ([key, peer]) => ({ name: peer.url, store: peerStore(key, peer), isFallback: false }),
    );
    sources.push({ name: "the orchestrator", store, isFallback: true });
    return await fetchBlob({ ref, sources, concurrency: leavesUnderWay, ...access });
  };
  return { put, get };
}

/** The address alone, without path or credentials; null: not one to ask. */
export function peerUrl(text: string): string | null {
  const url = URL.parse(text);
  return url !== null && /^https?:$/.test(url.protocol) && url.username === "" ? url.origin : null;
}

/** `quota` hears what members are not charged for any more. */
export function hubBlobs(store: LocalBlobStore, quota: Pick<BlobQuota, "deleted" | "needed"> | null = null): HubBlobs {
  const remove = async (hash: BlobHash) => {
    await store.delete(hash);
    quota?.deleted(hash);
  };
  let unusedBefore: ReadonlySet<string> = new Set();
  return {
    ...blobAccess(store),
    sweep: async (used) => {
      quota?.needed(used);
      const unused = new Set<string>();
      for (const { hash } of await Array.fromAsync(store.list())) {
        if (used.has(hash)) continue;
        if (unusedBefore.has(hash)) await remove(hash);
        else unused.add(hash);
      }
      unusedBefore = unused;
    },
    delete: remove,
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
