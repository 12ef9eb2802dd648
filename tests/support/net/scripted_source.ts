/** A blob store whose answers a test decides about: it lies, fails or stalls from a chosen leaf on, and counts what it sent. */

import type { BlobHash, BlobRef } from "../../../core/ids.ts";
import { leafBytes } from "../../../net/blob_hash.ts";
import { MemoryBlobs } from "../../../net/blobs/blob_memory.ts";
import {
  BlobError,
  type BlobLocation,
  type BlobSource,
  type BlobStore,
  type ByteRange,
  type ByteStream,
} from "../../../net/blobs/blobs.ts";
import type { FetchSource } from "../../../net/blobs/fetch_sources.ts";

/** What to do with the `count`-th request for a leaf, from 0. */
export type Conduct = (
  request: { leaf: number; count: number },
) => "honest" | "lie" | "short" | "long" | "fail" | "stall";

export class ScriptedSource implements BlobStore {
  readonly sent: number[] = []; // leaves, in the order of the requests
  liesAboutLeaves = false;
  stallsFirst = false; // leaf lists and whole blobs
  readonly #inner = new MemoryBlobs({ blobBytes: 2 ** 30, capacityBytes: 2 ** 30 });
  readonly #conduct: Conduct;

  constructor(conduct: Conduct = () => "honest") {
    this.#conduct = conduct;
  }

  put(source: BlobSource): Promise<BlobRef> {
    return this.#inner.put(source);
  }

  adoptFile(path: string, expected?: BlobHash): Promise<BlobRef> {
    return this.#inner.adoptFile(path, expected);
  }

  locate(): Promise<BlobLocation | null> {
    return this.#inner.locate();
  }

  find(hash: BlobHash): Promise<BlobRef | null> {
    return this.#inner.find(hash);
  }

  async get(hash: BlobHash): Promise<Uint8Array> {
    if (this.stallsFirst) await new Promise(() => {});
    const bytes = await this.#inner.get(hash);
    if (this.#conduct({ leaf: 0, count: 0 }) === "lie") bytes[0]! ^= 1;
    return bytes;
  }

  async leaves(hash: BlobHash): Promise<readonly BlobHash[] | null> {
    if (this.stallsFirst) await new Promise(() => {});
    const leaves = await this.#inner.leaves(hash);
    return this.liesAboutLeaves && leaves !== null ? leaves.toReversed() : leaves;
  }

  async open(hash: BlobHash, range?: ByteRange): Promise<ByteStream> {
    const leaf = (range?.start ?? 0) / leafBytes;
    const conduct = this.#conduct({ leaf, count: this.sent.length });
    this.sent.push(leaf);
    if (conduct === "fail") throw new BlobError("unreachable", "Cannot reach it");
    const bytes = (await this.#inner.get(hash)).slice(range?.start, range?.end);
    const half = bytes.length >> 1;
    if (conduct === "stall") return stalling(bytes.subarray(0, half));
    if (conduct === "lie") bytes[half]! ^= 1;
    const end = conduct === "short" ? [] : [bytes.subarray(half)];
    const extra = conduct === "long" ? [bytes.subarray(0, 1)] : [];
    return ReadableStream.from([bytes.subarray(0, half), ...end, ...extra]);
  }
}

/** Half of it, then nothing more. */
function stalling(bytes: Uint8Array): ByteStream {
  return new ReadableStream({ start: (controller) => controller.enqueue(bytes) });
}

export function sourceOf(name: string, store: BlobStore, { isFallback = false } = {}): FetchSource {
  return { name, store, isFallback };
}
