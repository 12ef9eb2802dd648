/**
 * Blobs as files: `<folder>/ab/abcdef…`, one file a blob.
 *
 * Owns: the folder. A blob is written to `incoming/`, hashed on the way, synced, and renamed: a file under its final name is
 * whole, whenever the process or the machine stops. What a stopped process left in `incoming/` is removed at the next
 * start, so one process at a time may own a folder. Refuses: bytes that do not match (also bytes that changed on the disk).
 */

import { type BlobHash, blobHash, type BlobRef } from "../core/ids.ts";
import {
  type BlobCapacity,
  BlobError,
  BlobMeter,
  type BlobSource,
  type BlobUsage,
  type ByteRange,
  type ByteStream,
  checkRange,
  collect,
  type LocalBlobStore,
  missing,
  verified,
} from "./blobs.ts";

/** The part of a file that storing needs; tests put a full disk here. */
export interface BlobFile {
  write(bytes: Uint8Array): Promise<number>;
  sync(): Promise<void>;
  close(): void;
}

export interface DiskBlobsOptions extends BlobCapacity {
  readonly folder: string;
  readonly createFile?: (path: string) => Promise<BlobFile>;
}

const chunkBytes = 256 * 1024;

export class DiskBlobs implements LocalBlobStore {
  readonly #options: DiskBlobsOptions;
  readonly #createFile: (path: string) => Promise<BlobFile>;
  /** Every blob under its final name and its size. */
  readonly #index = new Map<BlobHash, number>();
  #bytes = 0;
  #receivingBytes = 0; // in `incoming/`
  #received = 0; // names the next file there

  private constructor(options: DiskBlobsOptions) {
    this.#options = options;
    this.#createFile = options.createFile ?? ((path) => Deno.open(path, { createNew: true, write: true }));
  }

  /** Makes the folder ready, removes leftovers and counts what is there; fails in words if the folder cannot be used. */
  static async open(options: DiskBlobsOptions): Promise<DiskBlobs> {
    const store = new DiskBlobs(options);
    try {
      await Deno.mkdir(options.folder, { recursive: true });
      await Deno.remove(store.#incomingFolder, { recursive: true }).catch(ignoreMissing);
      await Deno.mkdir(store.#incomingFolder);
    } catch (error) {
      throw store.#problem(error);
    }
    await store.#scan();
    return store;
  }

  find(hash: BlobHash): Promise<BlobRef | null> {
    const bytes = this.#index.get(hash);
    return Promise.resolve(bytes === undefined ? null : { hash, bytes });
  }

  async put(source: BlobSource, expected?: BlobHash): Promise<BlobRef> {
    const path = `${this.#incomingFolder}/${this.#received++}.part`;
    try {
      const ref = await this.#receive(path, source, expected);
      await this.#adopt(path, ref);
      return ref;
    } catch (error) {
      await Deno.remove(path).catch(ignoreMissing);
      throw this.#problem(error);
    }
  }

  async get(hash: BlobHash): Promise<Uint8Array> {
    const ref = await this.#require(hash);
    return await collect(verified(this.#read(ref, { start: 0, end: ref.bytes }), ref), ref.bytes);
  }

  async open(hash: BlobHash, range?: ByteRange): Promise<ByteStream> {
    const ref = await this.#require(hash);
    if (range === undefined) return ReadableStream.from(verified(this.#read(ref, { start: 0, end: ref.bytes }), ref));
    checkRange(ref, range);
    return ReadableStream.from(this.#read(ref, range));
  }

  async delete(hash: BlobHash): Promise<boolean> {
    const bytes = this.#index.get(hash);
    if (bytes === undefined) return false;
    this.#index.delete(hash);
    this.#bytes -= bytes;
    try {
      await Deno.remove(this.#path(hash)).catch(ignoreMissing);
    } catch (error) {
      throw this.#problem(error);
    }
    return true;
  }

  async *list(): AsyncIterable<BlobRef> {
    for (const [hash, bytes] of this.#index) yield await Promise.resolve({ hash, bytes });
  }

  usage(): BlobUsage {
    return { blobs: this.#index.size, bytes: this.#bytes };
  }

  get #incomingFolder(): string {
    return `${this.#options.folder}/incoming`;
  }

  #path(hash: BlobHash): string {
    return `${this.#options.folder}/${hash.slice(0, 2)}/${hash}`;
  }

  #enter(ref: BlobRef): void {
    if (this.#index.has(ref.hash)) return; // two stored the same bytes at once
    this.#index.set(ref.hash, ref.bytes);
    this.#bytes += ref.bytes;
  }

  async #scan(): Promise<void> {
    const { folder } = this.#options;
    for await (const { name, isDirectory } of Deno.readDir(folder)) {
      if (!isDirectory || !/^[0-9a-f]{2}$/.test(name)) continue;
      for await (const file of Deno.readDir(`${folder}/${name}`)) {
        if (!file.isFile || !/^[0-9a-f]{64}$/.test(file.name)) continue;
        const hash = blobHash(file.name);
        this.#enter({ hash, bytes: (await Deno.stat(this.#path(hash))).size });
      }
    }
  }

  async #receive(path: string, source: BlobSource, expected?: BlobHash): Promise<BlobRef> {
    const meter = new BlobMeter(this.#options.blobBytes);
    const file = await this.#createFile(path);
    try {
      for await (const chunk of source instanceof Uint8Array ? [source] : source) {
        this.#receivingBytes += chunk.length;
        meter.add(chunk);
        this.#checkCapacity();
        for (let at = 0; at < chunk.length;) at += await file.write(chunk.subarray(at));
      }
      const ref = meter.finish(expected);
      await file.sync();
      return ref;
    } finally {
      this.#receivingBytes -= meter.bytes;
      file.close();
    }
  }

  async #adopt(path: string, ref: BlobRef): Promise<void> {
    if (this.#index.has(ref.hash)) return await Deno.remove(path);
    const folder = `${this.#options.folder}/${ref.hash.slice(0, 2)}`;
    await Deno.mkdir(folder, { recursive: true });
    await Deno.rename(path, this.#path(ref.hash));
    await syncFolder(folder);
    this.#enter(ref);
  }

  #checkCapacity(): void {
    const value = this.#bytes + this.#receivingBytes;
    const limit = this.#options.capacityBytes;
    if (value <= limit) return;
    throw new BlobError(
      "noSpace",
      `Cannot store a blob as 'capacityBytes' must be at most ${limit}: current value is ${value}`,
    );
  }

  async #require(hash: BlobHash): Promise<BlobRef> {
    const ref = await this.find(hash);
    if (ref === null) throw missing(hash, this.#options.folder);
    return ref;
  }

  async *#read(ref: BlobRef, range: ByteRange): AsyncGenerator<Uint8Array> {
    using file = await Deno.open(this.#path(ref.hash)).catch((error) => {
      throw error instanceof Deno.errors.NotFound ? missing(ref.hash, this.#options.folder) : this.#problem(error);
    });
    await file.seek(range.start, Deno.SeekMode.Start);
    for (let left = range.end - range.start; left > 0;) {
      const chunk = new Uint8Array(Math.min(chunkBytes, left));
      const bytes = await file.read(chunk);
      if (bytes === null) {
        throw new BlobError("wrongHash", `Cannot read blob ${ref.hash} as its file ends too early; delete it`);
      }
      left -= bytes;
      yield chunk.subarray(0, bytes);
    }
  }

  /** What the system said, as a sentence with a next step. */
  #problem(error: unknown): unknown {
    if (error instanceof BlobError || !(error instanceof Error)) return error;
    const { folder } = this.#options;
    const code = "code" in error ? error.code : undefined;
    if (code === "ENOSPC" || code === "EDQUOT" || /os error (28|122)/.test(error.message)) {
      const next = "free some space or choose another data folder";
      return new BlobError("noSpace", `Cannot store a blob in ${folder} as the disk is full: ${next}`, {
        cause: error,
      });
    }
    const isOurs = error instanceof Deno.errors.PermissionDenied || error instanceof Deno.errors.NotCapable ||
      /os error \d+/.test(error.message);
    if (!isOurs) return error; // of the source, not of the disk
    const next = "make it a folder that this user can write, or choose another data folder";
    return new BlobError("storage", `Cannot use ${folder} for blobs as the system says '${error.message}': ${next}`, {
      cause: error,
    });
  }
}

function ignoreMissing(error: unknown): void {
  if (!(error instanceof Deno.errors.NotFound)) throw error;
}

/** Makes a rename last; not every system lets a folder be opened, and those sync it themselves. */
async function syncFolder(path: string): Promise<void> {
  if (Deno.build.os === "windows") return;
  using folder = await Deno.open(path);
  await folder.sync();
}
