/**
 * Blobs as files: `<folder>/ab/abcdef…`, one file per blob, and `abcdef….leaves` beside a blob of several leaves.
 *
 * A blob is written to `incoming/`, hashed on the way, synced, and renamed, so a file under its final name is whole.
 * Leftovers are removed at the next start, so only one process may own a folder. A leaf list is verified against the
 * name, so it is written without sync and recreated when torn. A damaged file is removed, reported, and may be stored
 * again.
 */

import { type BlobHash, blobHash, type BlobRef } from "../../core/ids.ts";
import { decodeLeaves, encodeLeaves, leafBytes } from "../blob_hash.ts";
import { chunksOf, consumeFile, ignoreMissing, meterFile } from "./blob_file.ts";
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
  collect,
  type LocalBlobStore,
  type LostBlob,
  type MeteredBlob,
  missing,
  piecesOf,
  verified,
} from "./blobs.ts";
import { diskProblem } from "./disk_problem.ts";

export interface BlobFile {
  write(bytes: Uint8Array): Promise<number>;
  sync(): Promise<void>;
  close(): void;
}

export interface DiskBlobsOptions extends BlobCapacity {
  readonly folder: string;
  readonly onLost?: (lost: LostBlob) => void;
  readonly createFile?: (path: string) => Promise<BlobFile>;
}

export class DiskBlobs implements LocalBlobStore {
  readonly #options: DiskBlobsOptions;
  readonly #createFile: (path: string) => Promise<BlobFile>;
  readonly #index = new Map<BlobHash, number>();
  readonly #shards = new Set<string>();
  #bytes = 0;
  #receivingBytes = 0;
  #received = 0;

  private constructor(options: DiskBlobsOptions) {
    this.#options = options;
    this.#createFile = options.createFile ?? ((path) => Deno.open(path, { createNew: true, write: true }));
  }

  static async open(options: DiskBlobsOptions): Promise<DiskBlobs> {
    const store = new DiskBlobs(options);
    try {
      await Deno.mkdir(options.folder, { recursive: true });
      await Deno.remove(store.#incomingFolder, { recursive: true }).catch(ignoreMissing);
      await Deno.mkdir(store.#incomingFolder);
    } catch (error) {
      throw diskProblem(error, options.folder);
    }
    await store.#scan();
    return store;
  }

  /** Also checks the file, because a sender told that a blob is here does not send it again. */
  async find(hash: BlobHash): Promise<BlobRef | null> {
    const bytes = this.#index.get(hash);
    if (bytes === undefined) return null;
    const ref = { hash, bytes };
    const file = await Deno.stat(this.#path(hash)).catch((error) => ignoreMissing(this.#problem(error)));
    if (file?.isFile && file.size === bytes) return ref;
    await this.#lose(ref, file === undefined ? "gone" : "damaged");
    return null;
  }

  async put(source: BlobSource, expected?: BlobHash): Promise<BlobRef> {
    const path = `${this.#incomingFolder}/${this.#received++}.part`;
    try {
      const blob = await this.#receive(path, source, expected);
      await this.#adopt(path, blob);
      return blob.ref;
    } catch (error) {
      await Deno.remove(path).catch(ignoreMissing);
      throw diskProblem(error, this.#options.folder);
    }
  }

  /** From the same disk; the file is gone afterwards, even if its bytes are rejected. */
  async adoptFile(path: string, expected?: BlobHash): Promise<BlobRef> {
    try {
      return await consumeFile(path, async () => {
        const blob = await this.#meter(path, expected);
        await this.#adopt(path, blob);
        return blob.ref;
      });
    } catch (error) {
      throw diskProblem(error, this.#options.folder);
    }
  }

  async locate(hash: BlobHash): Promise<BlobLocation | null> {
    return await this.find(hash) === null ? null : { type: "file", path: this.#path(hash) };
  }

  async get(hash: BlobHash): Promise<Uint8Array> {
    const ref = await this.#require(hash);
    return await collect(this.#readWhole(ref), ref.bytes);
  }

  async open(hash: BlobHash, range?: ByteRange): Promise<ByteStream> {
    const ref = await this.#require(hash);
    if (range === undefined) return ReadableStream.from(this.#readWhole(ref));
    checkRange(ref, range);
    return ReadableStream.from(this.#read(ref, range));
  }

  async leaves(hash: BlobHash): Promise<readonly BlobHash[] | null> {
    const ref = await this.find(hash);
    if (ref === null) return null;
    if (ref.bytes <= leafBytes) return [hash];
    const list = await Deno.readFile(this.#leavesPath(hash)).catch(ignoreMissing);
    const kept = list === undefined ? null : decodeLeaves(list, ref);
    if (kept !== null) return kept;
    const meter = new BlobMeter(ref.bytes);
    for await (const chunk of this.#readWhole(ref)) meter.add(chunk);
    const blob = meter.finish(hash);
    await this.#keepLeaves(blob);
    return blob.leaves;
  }

  async delete(hash: BlobHash): Promise<boolean> {
    if (!this.#leave(hash)) return false;
    try {
      await Deno.remove(this.#path(hash)).catch(ignoreMissing);
      await Deno.remove(this.#leavesPath(hash)).catch(ignoreMissing);
    } catch (error) {
      throw diskProblem(error, this.#options.folder);
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

  #leavesPath(hash: BlobHash): string {
    return `${this.#path(hash)}.leaves`;
  }

  #enter(ref: BlobRef): void {
    if (this.#index.has(ref.hash)) return; // two callers stored the same bytes at once
    this.#index.set(ref.hash, ref.bytes);
    this.#bytes += ref.bytes;
  }

  #leave(hash: BlobHash): boolean {
    const bytes = this.#index.get(hash);
    if (bytes === undefined) return false;
    this.#bytes -= bytes;
    return this.#index.delete(hash);
  }

  /** Two readers may detect it at once. */
  async #lose(ref: BlobRef, why: LostBlob["why"]): Promise<void> {
    if (!(await this.delete(ref.hash))) return;
    this.#options.onLost?.({ ref, why });
  }

  #problem(error: unknown): unknown {
    return error instanceof Deno.errors.NotFound ? error : diskProblem(error, this.#options.folder);
  }

  async #scan(): Promise<void> {
    const { folder } = this.#options;
    for await (const { name, isDirectory } of Deno.readDir(folder)) {
      if (!isDirectory || !/^[0-9a-f]{2}$/.test(name)) continue;
      const files = (await Array.fromAsync(Deno.readDir(`${folder}/${name}`))).filter((file) => file.isFile);
      for (const file of files.filter((file) => /^[0-9a-f]{64}$/.test(file.name))) {
        const hash = blobHash(file.name);
        this.#enter({ hash, bytes: (await Deno.stat(this.#path(hash))).size });
      }
      for (const file of files.filter((file) => /^[0-9a-f]{64}\.leaves$/.test(file.name))) {
        if (!this.#index.has(blobHash(file.name.slice(0, 64)))) await Deno.remove(`${folder}/${name}/${file.name}`);
      }
    }
  }

  async #receive(path: string, source: BlobSource, expected?: BlobHash): Promise<MeteredBlob> {
    const meter = new BlobMeter(this.#options.blobBytes);
    const file = await this.#createFile(path);
    try {
      for await (const chunk of piecesOf(source)) {
        this.#receivingBytes += chunk.length;
        meter.add(chunk);
        this.#checkCapacity();
        for (let at = 0; at < chunk.length;) at += await file.write(chunk.subarray(at));
      }
      const blob = meter.finish(expected);
      await file.sync();
      return blob;
    } finally {
      this.#receivingBytes -= meter.bytes;
      file.close();
    }
  }

  async #meter(path: string, expected?: BlobHash): Promise<MeteredBlob> {
    using file = await Deno.open(path, { read: true, write: true });
    const { size } = await file.stat();
    this.#receivingBytes += size;
    try {
      this.#checkCapacity();
      const blob = await meterFile(file, { blobBytes: this.#options.blobBytes, expected });
      await file.sync();
      return blob;
    } finally {
      this.#receivingBytes -= size;
    }
  }

  async #adopt(path: string, blob: MeteredBlob): Promise<void> {
    const { ref } = blob;
    if (await this.find(ref.hash) !== null) return await Deno.remove(path);
    const folder = await this.#shardOf(ref.hash);
    await this.#keepLeaves(blob);
    await Deno.rename(path, this.#path(ref.hash));
    await syncFolder(folder);
    this.#enter(ref);
  }

  /** A new folder is durable once its parent is synced. */
  async #shardOf(hash: BlobHash): Promise<string> {
    const name = hash.slice(0, 2);
    const folder = `${this.#options.folder}/${name}`;
    if (this.#shards.has(name)) return folder;
    await Deno.mkdir(folder, { recursive: true });
    await syncFolder(this.#options.folder);
    this.#shards.add(name);
    return folder;
  }

  async #keepLeaves({ ref, leaves }: MeteredBlob): Promise<void> {
    if (leaves.length > 1) await Deno.writeFile(this.#leavesPath(ref.hash), encodeLeaves(leaves));
  }

  #checkCapacity(): void {
    const value = this.#bytes + this.#receivingBytes;
    const limit = this.#options.capacityBytes;
    if (value <= limit) return;
    throw new BlobError(
      "noSpace",
      `Cannot store a blob: 'capacityBytes' must be at most ${limit}, and would be ${value}`,
    );
  }

  async #require(hash: BlobHash): Promise<BlobRef> {
    const ref = await this.find(hash);
    if (ref === null) throw missing(hash, this.#options.folder);
    return ref;
  }

  async *#readWhole(ref: BlobRef): AsyncGenerator<Uint8Array> {
    try {
      yield* verified(this.#read(ref, { start: 0, end: ref.bytes }), ref);
    } catch (error) {
      if (error instanceof BlobError && error.code === "wrongHash") await this.#lose(ref, "damaged");
      throw error;
    }
  }

  async *#read(ref: BlobRef, range: ByteRange): AsyncGenerator<Uint8Array> {
    using file = await this.#openFile(ref);
    await file.seek(range.start, Deno.SeekMode.Start);
    let left = range.end - range.start;
    for await (const chunk of chunksOf(file, left)) {
      left -= chunk.length;
      yield chunk;
    }
    if (left > 0) {
      throw new BlobError(
        "wrongHash",
        `Cannot read blob ${ref.hash}: its file ends before byte ${ref.bytes}`,
      );
    }
  }

  async #openFile(ref: BlobRef): Promise<Deno.FsFile> {
    try {
      return await Deno.open(this.#path(ref.hash));
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw diskProblem(error, this.#options.folder);
      await this.#lose(ref, "gone");
      throw missing(ref.hash, this.#options.folder);
    }
  }
}

/** Makes a rename durable. Some systems cannot open folders; those sync them themselves. */
async function syncFolder(path: string): Promise<void> {
  if (Deno.build.os === "windows") return;
  using folder = await Deno.open(path);
  await folder.sync();
}
