/**
 * Unfinished uploads on disk: `<folder>/<hash>.<sender>.<serial>.part`, one file per blob and sender.
 *
 * The file's length is the offset, so a restarted process continues where the last one stopped. After its last byte a
 * file is hashed and moved into the store, or removed. Only the newest request writes to an upload, because a sender
 * that returns has lost its previous connection. A sender's new upload displaces its own old ones; if the total is too
 * large, the sender with the most bytes loses its idle uploads first.
 */

import { type BlobHash, blobHash, type NodeId } from "../../core/ids.ts";
import { leafHashOf } from "../blob_hash.ts";
import {
  BlobError,
  type BlobStore,
  cancelQuietly,
  type KeptUploads,
  tooLarge,
  type UploadAnswer,
  type UploadKey,
  type UploadPart,
} from "./blobs.ts";
import { diskProblem } from "./disk_problem.ts";
import type { NetLimits } from "../limits.ts";
import type { Cancel, Timers } from "../timers.ts";

export interface DiskUploadsOptions {
  readonly folder: string;
  readonly store: Pick<BlobStore, "adoptFile">;
  readonly limits: Pick<
    NetLimits,
    "blobBytes" | "uploads" | "uploadsOfNode" | "uploadBytes" | "uploadBytesOfNode" | "uploadKeepMs"
  >;
  readonly timers: Timers;
}

interface Writer {
  readonly stop: () => void;
  readonly ended: Promise<void>;
}

interface Upload {
  readonly hash: BlobHash;
  readonly sender: string;
  readonly path: string;
  bytes: number;
  usedMs: number;
  writer: Writer | null;
}

const fileName = /^([0-9a-f]{64})\.([0-9a-f]{32})\.(\d{1,15})\.part$/;

export class DiskUploads implements KeptUploads {
  readonly #options: DiskUploadsOptions;
  readonly #uploads = new Map<string, Upload>();
  #serial = 0; // a name is never used twice, so removing a file cannot meet its successor
  #removals: Promise<void> = Promise.resolve();
  #cancelSweep: Cancel | null = null;

  private constructor(options: DiskUploadsOptions) {
    this.#options = options;
  }

  /** Resumes the uploads that the last process left, except those that are too old. */
  static async open(options: DiskUploadsOptions): Promise<DiskUploads> {
    const uploads = new DiskUploads(options);
    try {
      await Deno.mkdir(options.folder, { recursive: true });
      for await (const { name } of Deno.readDir(options.folder)) await uploads.#takeUp(name);
    } catch (error) {
      throw diskProblem(error, options.folder);
    }
    uploads.#sweep();
    await uploads.#removals;
    return uploads;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#uploads.values()].map(stopWriting));
    this.#cancelSweep?.();
    await this.#removals;
  }

  usage(): { uploads: number; bytes: number } {
    return usageOf([...this.#uploads.values()]);
  }

  async offset(key: UploadKey): Promise<number> {
    for (let upload = this.#find(key); upload !== undefined; upload = this.#find(key)) {
      if (upload.writer === null) return upload.bytes;
      await stopWriting(upload);
    }
    return 0;
  }

  async append(key: UploadKey, part: UploadPart): Promise<UploadAnswer> {
    for (let upload = this.#find(key); upload?.writer; upload = this.#find(key)) await stopWriting(upload);
    // Nothing is awaited between here and the new writer, so two requests cannot both begin.
    const bytes = this.#find(key)?.bytes ?? 0;
    if (part.offset !== bytes) {
      await part.source.cancel();
      return { type: "wrongOffset", bytes };
    }
    const upload = this.#find(key) ?? this.#create(key);
    const ended = Promise.withResolvers<void>();
    const reader = part.source.getReader();
    let isStopped = false; // ends the stream as if the part were complete
    const stop = () => {
      isStopped = true;
      cancelQuietly(reader);
    };
    upload.writer = { stop, ended: ended.promise };
    try {
      const isWhole = await this.#write(upload, { part, reader }) && !isStopped;
      return isWhole && part.isLast ? await this.#finish(upload) : { type: "appended", bytes: upload.bytes };
    } catch (error) {
      throw diskProblem(error, this.#options.folder);
    } finally {
      await cancelQuietly(reader);
      upload.writer = null;
      upload.usedMs = this.#options.timers.nowMs();
      this.#scheduleSweep();
      ended.resolve();
    }
  }

  #find({ hash, node }: UploadKey): Upload | undefined {
    return this.#uploads.get(`${hash}.${senderOf(node)}`);
  }

  #create({ hash, node }: UploadKey): Upload {
    const { folder, limits, timers } = this.#options;
    const sender = senderOf(node);
    const own = this.#of(sender);
    if (own.length >= limits.uploadsOfNode) this.#dropOldest(own, "uploadsOfNode");
    else if (this.#uploads.size >= limits.uploads) this.#dropOfLargest("uploads");
    const path = `${folder}/${hash}.${sender}.${this.#serial++}.part`;
    const upload: Upload = { hash, sender, path, bytes: 0, usedMs: timers.nowMs(), writer: null };
    this.#uploads.set(`${hash}.${sender}`, upload);
    return upload;
  }

  /** False: it broke off. */
  async #write(
    upload: Upload,
    { part, reader }: { part: UploadPart; reader: ReadableStreamDefaultReader<Uint8Array> },
  ): Promise<boolean> {
    using file = await Deno.open(upload.path, { write: true, create: true });
    await file.truncate(upload.bytes); // a failed write may have left more
    await file.seek(upload.bytes, Deno.SeekMode.Start);
    for (;;) {
      const chunk = await nextChunk(reader);
      if (chunk === "broken") return false;
      if (chunk === "end") return part.bytes === null || upload.bytes === part.offset + part.bytes;
      this.#makeRoom(upload, chunk.length);
      for (let at = 0; at < chunk.length;) at += await file.write(chunk.subarray(at));
      upload.bytes += chunk.length;
    }
  }

  #makeRoom(upload: Upload, bytes: number): void {
    const { blobBytes, uploadBytes, uploadBytesOfNode } = this.#options.limits;
    const value = upload.bytes + bytes;
    if (value > blobBytes) throw tooLarge({ limit: blobBytes, value });
    for (
      let own = this.#of(upload.sender);
      usageOf(own).bytes + bytes > uploadBytesOfNode;
      own = this.#of(upload.sender)
    ) {
      this.#dropOldest(own, "uploadBytesOfNode");
    }
    while (this.usage().bytes + bytes > uploadBytes) this.#dropOfLargest("uploadBytes");
  }

  #of(sender: string): Upload[] {
    return [...this.#uploads.values()].filter((upload) => upload.sender === sender);
  }

  /** Until it is stored or refused the upload counts as being written, so requests for it wait. */
  async #finish(upload: Upload): Promise<UploadAnswer> {
    try {
      return { type: "stored", ref: await this.#options.store.adoptFile(upload.path, upload.hash) };
    } finally {
      this.#uploads.delete(`${upload.hash}.${upload.sender}`);
    }
  }

  #dropOldest(own: readonly Upload[], limit: "uploadsOfNode" | "uploadBytesOfNode"): void {
    const oldest = own.filter(isIdle).sort(byAge)[0];
    if (oldest !== undefined) return this.#drop(oldest);
    const value = this.#options.limits[limit];
    throw new BlobError("noSpace", `Cannot accept an upload: '${limit}' must be at most ${value}; finish one first`);
  }

  #dropOfLargest(limit: "uploads" | "uploadBytes"): void {
    const sizes = new Map<string, number>();
    for (const { sender, bytes } of this.#uploads.values()) {
      sizes.set(sender, (sizes.get(sender) ?? 0) + (limit === "uploads" ? 1 : bytes));
    }
    const sizeOf = ({ sender }: Upload) => sizes.get(sender) ?? 0;
    const idle = [...this.#uploads.values()].filter(isIdle);
    const victim = idle.sort((a, b) => sizeOf(b) - sizeOf(a) || byAge(a, b))[0];
    if (victim !== undefined) return this.#drop(victim);
    const value = this.#options.limits[limit];
    throw new BlobError("busy", `Cannot accept an upload: '${limit}' must be at most ${value}; try again soon`);
  }

  #drop(upload: Upload): void {
    const name = `${upload.hash}.${upload.sender}`;
    if (this.#uploads.get(name) === upload) this.#uploads.delete(name);
    const removal = Deno.remove(upload.path).catch(() => {
      // Never written, or not removable now; a later start then drops it by age.
    });
    this.#removals = Promise.all([this.#removals, removal]).then(() => {});
  }

  #sweep(): void {
    const oldestMs = this.#options.timers.nowMs() - this.#options.limits.uploadKeepMs;
    for (const upload of [...this.#uploads.values()].filter(isIdle)) if (upload.usedMs <= oldestMs) this.#drop(upload);
    this.#cancelSweep = null;
    this.#scheduleSweep();
  }

  #scheduleSweep(): void {
    if (this.#cancelSweep !== null || this.#uploads.size === 0) return;
    this.#cancelSweep = this.#options.timers.after(this.#options.limits.uploadKeepMs, () => this.#sweep());
  }

  async #takeUp(name: string): Promise<void> {
    const match = fileName.exec(name);
    if (match === null) return;
    const [hash, sender] = [blobHash(match[1]!), match[2]!];
    const path = `${this.#options.folder}/${name}`;
    const { size, mtime } = await Deno.stat(path);
    const upload: Upload = { hash, sender, path, bytes: size, usedMs: mtime?.getTime() ?? 0, writer: null };
    this.#serial = Math.max(this.#serial, Number(match[3]) + 1);
    if (this.#uploads.has(`${hash}.${sender}`)) this.#drop(upload);
    else this.#uploads.set(`${hash}.${sender}`, upload);
  }
}

const isIdle = (upload: Upload): boolean => upload.writer === null;
const byAge = (a: Upload, b: Upload): number => a.usedMs - b.usedMs;
const usageOf = (uploads: readonly Upload[]): { uploads: number; bytes: number } => ({
  uploads: uploads.length,
  bytes: uploads.reduce((sum, { bytes }) => sum + bytes, 0),
});

/** Short, and safe in a file name even if the disk ignores case. */
const senderOf = (node: NodeId): string => leafHashOf(new TextEncoder().encode(node)).slice(0, 32);

async function stopWriting({ writer }: Upload): Promise<void> {
  if (writer === null) return;
  writer.stop();
  await writer.ended;
}

/** A broken connection is an unannounced end; the bytes received before it stay. */
async function nextChunk(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<Uint8Array | "end" | "broken"> {
  try {
    const { done, value } = await reader.read();
    return done ? "end" : value;
  } catch {
    return "broken";
  }
}
