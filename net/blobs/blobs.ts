/**
 * Content-addressed bytes: the contract of every blob store.
 *
 * Owns: the interfaces, the one error class and the checks that all stores share. Implementations: blob_memory.ts,
 * blob_disk.ts, blob_http.ts, one conformance suite over all. Invariants: a blob is named by its bytes (blob_hash.ts); bytes
 * that do not match their name are never returned as a whole blob and never stored; storing the same bytes again is free.
 */

import type { RefusedUpload } from "../../core/fault.ts";
import type { BlobHash, BlobRef, NodeId } from "../../core/ids.ts";
import { TreeDigest } from "../blob_hash.ts";
import { piecesInTurns } from "../turns.ts";

export type BlobProblem =
  | "missing" // no such blob here
  | "wrongHash" // the bytes are not what their name says
  | "tooLarge" // above blobBytes
  | "noSpace" // the node's quota, or that of all members, is used up
  | "diskFull" // the disk is full; there may be space later
  | "busy" // too many uploads at once
  | "brokenOff" // an upload's connection broke or was silent for too long
  | "storage" // the folder cannot be used
  | "refused" // the orchestrator does not accept this request
  | "unreachable"; // no answer after every retry

/** A store operation failed; `code` is for branching, the message includes the next step. */
export class BlobError extends Error {
  override name = "BlobError";
  readonly code: BlobProblem;
  readonly answer: RemoteAnswer | null; // null: no other machine was asked

  constructor(code: BlobProblem, message: string, options: ErrorOptions & { readonly answer?: RemoteAnswer } = {}) {
    super(message, options);
    this.code = code;
    this.answer = options.answer ?? null;
  }
}

/** What another machine, or a proxy before it, answered to the last attempt. */
interface RemoteAnswer {
  readonly status: number | null; // null: nothing
  readonly clockMs: number; // its `Date` header minus this machine's clock; 0: it has none
}

/** An upload to another machine that failed after all retries. */
export class UploadError extends BlobError {
  override name = "UploadError";
  readonly upload: RefusedUpload;

  constructor({ code, message, answer }: BlobError, bytes: number) {
    super(code, message);
    this.upload = { bytes, status: answer?.status ?? null, clockMs: answer?.clockMs ?? 0 };
  }
}

/** Larger uploads to another machine are sent in parts of at most this size. */
export const uploadChunkBytes = 8 * 1024 * 1024;

/** Bytes [start, end) of a blob. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

export type ByteStream = ReadableStream<Uint8Array>;
export type BlobSource = Uint8Array | ByteStream;

/**
 * Where a blob's bytes can be read without its store: an immutable file, or an address. `headers` authorize one GET,
 * soon; the next one needs a new location. The reader checks the bytes against their name.
 */
export type BlobLocation =
  | { readonly type: "file"; readonly path: string }
  | { readonly type: "url"; readonly url: string; readonly headers: Readonly<Record<string, string>> };

export interface BlobStore {
  /** A blob's metadata, without reading it; null: not here. */
  find(hash: BlobHash): Promise<BlobRef | null>;
  /**
   * Stores the bytes and returns their name; with `expected`, bytes of another name are rejected (`wrongHash`). Always
   * consumes the stream.
   */
  put(source: BlobSource, expected?: BlobHash): Promise<BlobRef>;
  /**
   * Stores a local file and removes it even on failure. If the store is a folder of the same disk, nothing is copied;
   * if it is elsewhere, the file is never in memory as a whole.
   */
  adoptFile(path: string, expected?: BlobHash): Promise<BlobRef>;
  /** Where else its bytes can be read; null: not here, or only through this store. */
  locate(hash: BlobHash): Promise<BlobLocation | null>;
  /** The whole blob, its hash checked. */
  get(hash: BlobHash): Promise<Uint8Array>;
  /** A whole blob fails at its end if its hash is wrong; a part cannot be checked. Ranges must be within the blob. */
  open(hash: BlobHash, range?: ByteRange): Promise<ByteStream>;
  /** The SHA-256 of each MiB; with the size they give the name, and parts can be checked. Null: not here. */
  leaves(hash: BlobHash): Promise<readonly BlobHash[] | null>;
}

/** An upload of one blob by one node. */
export interface UploadKey {
  readonly hash: BlobHash;
  readonly node: NodeId;
}

export interface UploadPart {
  readonly offset: number; // the part's first byte in the blob
  readonly bytes: number | null; // announced size; null: not announced
  readonly isLast: boolean;
  readonly source: ByteStream;
}

export type UploadAnswer =
  | { readonly type: "appended"; readonly bytes: number } // present now, even if the part broke off
  | { readonly type: "wrongOffset"; readonly bytes: number } // nothing was accepted; this is the next byte
  | { readonly type: "stored"; readonly ref: BlobRef };

/** Blobs that arrive in parts over several requests; none is visible in a store before its last byte is checked. */
export interface BlobUploads {
  /**
   * The number of bytes received. Ends a request that is still adding to them, because its sender asks only after it
   * broke.
   */
  offset(key: UploadKey): Promise<number>;
  /** Accepts the part, even if it breaks off in the middle. */
  append(key: UploadKey, part: UploadPart): Promise<UploadAnswer>;
}

/** Unfinished uploads that outlive their process. */
export interface KeptUploads extends BlobUploads {
  /** Ends current writes; the received bytes stay for the next process. */
  close(): Promise<void>;
}

export interface BlobUsage {
  readonly blobs: number;
  readonly bytes: number;
}

/** A store that owns its blobs. */
export interface LocalBlobStore extends BlobStore {
  /** False: it did not exist. */
  delete(hash: BlobHash): Promise<boolean>;
  list(): AsyncIterable<BlobRef>;
  usage(): BlobUsage;
}

export interface BlobCapacity {
  readonly blobBytes: number; // per blob
  readonly capacityBytes: number; // in total
}

/** A blob that the store had whole and has lost: its file disappeared or was damaged. */
export interface LostBlob {
  readonly ref: BlobRef;
  readonly why: "gone" | "damaged";
}

/** A blob that went through a meter. */
export interface MeteredBlob {
  readonly ref: BlobRef;
  readonly leaves: readonly BlobHash[];
}

/** Counts and hashes a stream, and rejects bytes beyond the limit. */
export class BlobMeter {
  readonly #digest = new TreeDigest();
  readonly #blobBytes: number;

  constructor(blobBytes: number) {
    this.#blobBytes = blobBytes;
  }

  get bytes(): number {
    return this.#digest.bytes;
  }

  add(chunk: Uint8Array): void {
    const value = this.bytes + chunk.length;
    if (value > this.#blobBytes) throw tooLarge({ limit: this.#blobBytes, value });
    this.#digest.update(chunk);
  }

  /** Finishes; with `expected`, other bytes are rejected. */
  finish(expected?: BlobHash): MeteredBlob {
    const blob = this.#digest.finish();
    const { hash } = blob.ref;
    if (expected === undefined || hash === expected) return blob;
    throw new BlobError("wrongHash", `Cannot accept a blob: its hash is ${hash}, not the expected ${expected}`);
  }
}

export function tooLarge(size: { limit: number; value: number }): BlobError {
  return new BlobError(
    "tooLarge",
    `Cannot store a blob: 'blobBytes' must be at most ${size.limit}, and is ${size.value}`,
  );
}

export function missing(hash: BlobHash, where: string): BlobError {
  return new BlobError("missing", `Cannot read blob ${hash}: it is not in ${where}`);
}

export function checkRange(ref: BlobRef, range: ByteRange): void {
  const { start, end } = range;
  const fits = Number.isSafeInteger(start) && Number.isSafeInteger(end) && start >= 0 && start <= end &&
    end <= ref.bytes;
  if (!fits) {
    throw new RangeError(
      `Cannot read a blob: the range must lie in 0 to ${ref.bytes}, and is ${start} to ${end}`,
    );
  }
}

/** Passes chunks on, and fails at the end if they were not the blob. */
export async function* verified(chunks: AsyncIterable<Uint8Array>, ref: BlobRef): AsyncGenerator<Uint8Array> {
  const meter = new BlobMeter(ref.bytes);
  for await (const chunk of chunks) {
    meter.add(chunk);
    yield chunk;
  }
  meter.finish(ref.hash);
}

const pieceBytes = 4 * 1024 * 1024; // hashed in 10 ms on a slow machine

/** The data to store, in pieces small enough not to delay other work when hashed and written. */
export function piecesOf(source: BlobSource): AsyncIterable<Uint8Array> {
  return source instanceof Uint8Array ? piecesInTurns(source, pieceBytes) : source;
}

export function concatenate(chunks: readonly Uint8Array[], bytes: number): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(bytes);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}

/** The chunks as one array; throws `wrongHash` unless they are exactly `bytes` long. `onBytes`: so many so far. */
export async function collect(
  chunks: AsyncIterable<Uint8Array>,
  bytes: number,
  onBytes: (bytes: number) => void = () => {},
): Promise<Uint8Array> {
  const whole = new Uint8Array(bytes);
  let at = 0;
  for await (const chunk of chunks) {
    if (at + chunk.length > bytes) {
      throw new BlobError("wrongHash", `Cannot collect a blob: it has more than its ${bytes} bytes`);
    }
    whole.set(chunk, at);
    at += chunk.length;
    onBytes(at);
  }
  if (at !== bytes) {
    throw new BlobError("wrongHash", `Cannot collect a blob: it has ${at} of its ${bytes} bytes`);
  }
  return whole;
}

export async function cancelQuietly(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
  await reader.cancel().catch(() => {
    // A broken stream has nothing left to cancel.
  });
}
