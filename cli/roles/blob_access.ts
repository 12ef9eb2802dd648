/** Blobs as the roles use them: whole vectors by hash, first from other nodes that offer them, then from the store. */

import type { BlobHash, BlobRef } from "../../core/ids.ts";
import type { Peer } from "../../core/protocol/message.ts";
import type { BlobQuota } from "../../net/blobs/blob_quota.ts";
import { fetchBlob } from "../../net/blobs/blob_fetch.ts";
import { type BlobStore, collect, type LocalBlobStore } from "../../net/blobs/blobs.ts";
import type { FetchSource, SourceProblem } from "../../net/blobs/fetch_sources.ts";
import type { Timers } from "../../net/timers.ts";

export interface BlobAccess {
  put(bytes: Uint8Array): Promise<BlobRef>;
  /** Checked against its hash; throws if it is unavailable. */
  get(ref: BlobRef, from?: BlobOrigin): Promise<Uint8Array>;
}

interface BlobOrigin {
  readonly peers?: readonly Peer[];
  readonly onBytes?: (bytes: number) => void;
}

export interface HubBlobs extends BlobAccess {
  delete(hash: BlobHash): Promise<void>;
  /** Deletes what is unused both now and at the last sweep, so that new blobs not yet referenced stay. */
  sweep(used: ReadonlySet<string>): Promise<void>;
}

export interface PeerAccess {
  /** Its address as `peerUrl` writes it. */
  readonly open: (peer: Peer) => BlobStore;
  readonly blobBytes: number;
  readonly timers: Timers;
  readonly onProblem: (problem: SourceProblem) => void;
}

const peersOfBlob = 8; // more would not be faster, and the list is untrusted
const leavesUnderWay = 8;

/** Without `access` or peers, every blob comes from the store. */
export function blobAccess(store: BlobStore, access: PeerAccess | null = null): BlobAccess {
  const put = (bytes: Uint8Array) => store.put(bytes);
  const fromStore = async ({ hash, bytes }: BlobRef, { onBytes }: BlobOrigin) =>
    onBytes === undefined ? await store.get(hash) : await collect(await store.open(hash), bytes, onBytes);
  if (access === null) return { put, get: (ref, from = {}) => fromStore(ref, from) };
  const opened = new Map<string, BlobStore>();
  const peerStore = (key: string, peer: Peer): BlobStore => {
    const known = opened.get(key) ?? access.open(peer);
    opened.delete(key);
    opened.set(key, known);
    if (opened.size > 8 * peersOfBlob) opened.delete(opened.keys().next().value!);
    return known;
  };
  const get = async (ref: BlobRef, from: BlobOrigin = {}) => {
    const { peers = [], onBytes } = from;
    const reachable = new Map<string, Peer>();
    for (const { node, url, pass } of peers.slice(0, peersOfBlob)) {
      const origin = peerUrl(url);
      if (origin !== null) reachable.set(`${node} ${origin} ${pass}`, { node, url: origin, pass });
    }
    if (reachable.size === 0) return await fromStore(ref, from);
    const sources: FetchSource[] = Array.from(
      reachable,
      ([key, peer]) => ({ name: peer.url, store: peerStore(key, peer), isFallback: false }),
    );
    sources.push({ name: "the orchestrator", store, isFallback: true });
    const counted = onBytes === undefined ? {} : { onBytes };
    return await fetchBlob({ ref, sources, concurrency: leavesUnderWay, ...access, ...counted });
  };
  return { put, get };
}

/** Without path or credentials; null if it must not be asked. */
export function peerUrl(text: string): string | null {
  const url = URL.parse(text);
  return url !== null && /^https?:$/.test(url.protocol) && url.username === "" ? url.origin : null;
}

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
