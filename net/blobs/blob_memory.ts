/** Blobs in memory, for tests, simulation and small runs. Bytes are copied in and out, except by `adopt`. */

import type { BlobHash, BlobRef } from "../../core/ids.ts";
import { consumeFile } from "./blob_file.ts";
import {
  type BlobCapacity,
  BlobError,
  type BlobLocation,
  BlobMeter,
  type BlobSource,
  type BlobUsage,
  type ByteRange,
  type ByteStream,
  checkRange,
  concatenate,
  type LocalBlobStore,
  type MeteredBlob,
  missing,
  piecesOf,
} from "./blobs.ts";

const chunkBytes = 256 * 1024;

interface HeldBlob {
  readonly bytes: Uint8Array;
  readonly leaves: readonly BlobHash[];
}

export class MemoryBlobs implements LocalBlobStore {
  readonly #blobs = new Map<BlobHash, HeldBlob>();
  readonly #capacity: BlobCapacity;
  #bytes = 0;

  constructor(capacity: BlobCapacity) {
    this.#capacity = capacity;
  }

  find(hash: BlobHash): Promise<BlobRef | null> {
    const blob = this.#blobs.get(hash);
    return Promise.resolve(blob === undefined ? null : { hash, bytes: blob.bytes.length });
  }

  async put(source: BlobSource, expected?: BlobHash): Promise<BlobRef> {
    const meter = new BlobMeter(this.#capacity.blobBytes);
    const chunks: Uint8Array[] = [];
    for await (const chunk of piecesOf(source)) {
      meter.add(chunk);
      chunks.push(chunk.slice());
    }
    const blob = meter.finish(expected);
    return this.#hold(blob, () => concatenate(chunks, blob.ref.bytes));
  }

  /** The bytes must not change any more. */
  async adopt(bytes: Uint8Array): Promise<BlobRef> {
    const meter = new BlobMeter(this.#capacity.blobBytes);
    for await (const piece of piecesOf(bytes)) meter.add(piece);
    return this.#hold(meter.finish(), () => bytes);
  }

  async adoptFile(path: string, expected?: BlobHash): Promise<BlobRef> {
    return await consumeFile(path, async () => await this.put((await Deno.open(path)).readable, expected));
  }

  locate(): Promise<BlobLocation | null> {
    return Promise.resolve(null);
  }

  async get(hash: BlobHash): Promise<Uint8Array> {
    return (await this.#bytesOf(hash)).slice();
  }

  async open(hash: BlobHash, range?: ByteRange): Promise<ByteStream> {
    const bytes = await this.#bytesOf(hash);
    if (range !== undefined) checkRange({ hash, bytes: bytes.length }, range);
    return ReadableStream.from(copies(bytes.subarray(range?.start, range?.end)));
  }

  leaves(hash: BlobHash): Promise<readonly BlobHash[] | null> {
    return Promise.resolve(this.#blobs.get(hash)?.leaves ?? null);
  }

  delete(hash: BlobHash): Promise<boolean> {
    this.#bytes -= this.#blobs.get(hash)?.bytes.length ?? 0;
    return Promise.resolve(this.#blobs.delete(hash));
  }

  async *list(): AsyncIterable<BlobRef> {
    for (const [hash, { bytes }] of this.#blobs) yield await Promise.resolve({ hash, bytes: bytes.length });
  }

  usage(): BlobUsage {
    return { blobs: this.#blobs.size, bytes: this.#bytes };
  }

  #hold({ ref, leaves }: MeteredBlob, bytes: () => Uint8Array): BlobRef {
    if (this.#blobs.has(ref.hash)) return ref;
    if (this.#bytes + ref.bytes > this.#capacity.capacityBytes) throw this.#full(ref.bytes);
    this.#blobs.set(ref.hash, { bytes: bytes(), leaves });
    this.#bytes += ref.bytes;
    return ref;
  }

  #bytesOf(hash: BlobHash): Promise<Uint8Array> {
    const blob = this.#blobs.get(hash);
    return blob === undefined ? Promise.reject(missing(hash, "memory")) : Promise.resolve(blob.bytes);
  }

  #full(bytes: number): BlobError {
    const detail = `'capacityBytes' must be at most ${this.#capacity.capacityBytes}: it would be ${
      this.#bytes + bytes
    }`;
    return new BlobError("noSpace", `Cannot store a blob: ${detail}`);
  }
}

/** Piece by piece, so that many slow readers of a large blob hold little. */
function* copies(bytes: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += chunkBytes) yield bytes.slice(at, at + chunkBytes);
}
