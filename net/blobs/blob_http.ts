/**
 * Blobs over HTTP, client side. A whole blob is checked against its hash before or while it is returned; at most
 * `blobBytes` are held.
 */

import type { BlobHash, BlobRef } from "../../core/ids.ts";
import { decodeLeaves, nameOf } from "../blob_hash.ts";
import { type BlobRequest, BlobRequests, type BlobRequestsOptions, Interrupted, numberIn } from "./blob_requests.ts";
import { BlobSend } from "./blob_send.ts";
import { consumeFile, meterFile } from "./blob_file.ts";
import {
  BlobError,
  type BlobLocation,
  type BlobSource,
  type BlobStore,
  type ByteRange,
  type ByteStream,
  checkRange,
  collect,
  concatenate,
  missing,
  tooLarge,
  uploadChunkBytes,
  UploadError,
  verified,
} from "./blobs.ts";

export interface HttpBlobsOptions extends BlobRequestsOptions {
  readonly blobBytes: number;
  /** Larger blobs are sent in parts of this many bytes. */
  readonly uploadChunkBytes?: number;
}

interface BegunDownload {
  readonly ref: BlobRef;
  readonly response: Response;
}

export class HttpBlobs implements BlobStore {
  readonly #requests: BlobRequests;
  readonly #blobBytes: number;
  readonly #uploadChunkBytes: number;
  /** Large uploads in progress. Two requests for one would break each other's connection. */
  readonly #sending = new Map<BlobHash, Promise<void>>();

  constructor(options: HttpBlobsOptions) {
    this.#requests = new BlobRequests(options);
    this.#blobBytes = options.blobBytes;
    this.#uploadChunkBytes = options.uploadChunkBytes ?? uploadChunkBytes;
  }

  find(hash: BlobHash): Promise<BlobRef | null> {
    return this.#requests.retry(async () => {
      const response = await this.#requests.ask({ method: "HEAD", hash });
      if (response.status === 404) return null;
      await this.#requests.mustBe(response, [200]);
      return { hash, bytes: numberIn(response, "content-length") };
    });
  }

  /** Without `expected` a stream is read into memory, because its hash is the address and a retry needs it again. */
  async put(source: BlobSource, expected?: BlobHash): Promise<BlobRef> {
    if (source instanceof Uint8Array) return await this.#putBytes(source, expected);
    if (expected !== undefined) return await this.#putStream(source, expected);
    const { head, rest } = await readHead(source, this.#blobBytes);
    if (rest !== null) {
      await rest.cancel();
      throw tooLarge({ limit: this.#blobBytes, value: head.length });
    }
    return await this.#putBytes(head, expected);
  }

  /** Its name is proven before its bytes are sent, so it is read twice. */
  async adoptFile(path: string, expected?: BlobHash): Promise<BlobRef> {
    return await consumeFile(path, async () => {
      using file = await Deno.open(path);
      const { ref } = await meterFile(file, { blobBytes: this.#blobBytes, expected });
      return await this.put((await Deno.open(path)).readable, ref.hash);
    });
  }

  async locate(hash: BlobHash): Promise<BlobLocation | null> {
    return await this.find(hash) === null ? null : { type: "url", ...this.#requests.proven(hash) };
  }

  async get(hash: BlobHash): Promise<Uint8Array> {
    const { ref, response } = await this.#begin(hash);
    return await collect(this.#whole(ref, response), ref.bytes);
  }

  async open(hash: BlobHash, range?: ByteRange): Promise<ByteStream> {
    if (range === undefined) {
      const { ref, response } = await this.#begin(hash);
      return ReadableStream.from(this.#whole(ref, response));
    }
    if (isSendable(range)) {
      const { ref, response } = await this.#beginRange(hash, range);
      return ReadableStream.from(this.#chunks(ref, range, response));
    }
    const ref = await this.find(hash);
    if (ref === null) throw missing(hash, this.#requests.url);
    checkRange(ref, range);
    return ReadableStream.from([]);
  }

  leaves(hash: BlobHash): Promise<readonly BlobHash[] | null> {
    return this.#requests.retry(async () => {
      const response = await this.#requests.ask({ method: "GET", hash, part: "leaves" });
      if (response.status === 404) return null;
      await this.#requests.mustBe(response, [200]);
      const bytes = Number(response.headers.get("iota-blob-bytes") ?? Number.NaN);
      const listBytes = numberIn(response, "content-length");
      const isPlausible = Number.isSafeInteger(bytes) && bytes >= 0 && bytes <= this.#blobBytes &&
        listBytes <= 32 + this.#blobBytes / 2 ** 15;
      if (isPlausible) {
        const list = await this.#collectAll(response, listBytes);
        const leaves = list === null ? null : decodeLeaves(list, { hash, bytes });
        if (leaves !== null) return leaves;
      } else await response.body?.cancel();
      const detail = `${this.#requests.url} sends leaves that do not match its hash`;
      throw new BlobError("wrongHash", `Cannot read blob ${hash}: ${detail}; use another source`);
    });
  }

  async #putBytes(bytes: Uint8Array, expected?: BlobHash): Promise<BlobRef> {
    const limit = this.#blobBytes;
    if (bytes.length > limit) throw tooLarge({ limit, value: bytes.length });
    const { hash } = await nameOf(bytes);
    if (expected !== undefined && expected !== hash) {
      throw new BlobError("wrongHash", `Cannot send a blob: its hash is ${hash}, not the expected ${expected}`);
    }
    await this.#uploading(
      bytes.length,
      () => bytes.length > this.#uploadChunkBytes ? this.#send(hash, bytes) : this.#putWhole(hash, bytes),
    );
    return { hash, bytes: bytes.length };
  }

  async #putWhole(hash: BlobHash, body: Uint8Array): Promise<void> {
    await this.#requests.retry(async () => {
      const response = await this.#requests.ask({ method: "PUT", hash, body });
      await this.#requests.mustBe(response, [200, 201]);
      await response.body?.cancel();
    });
  }

  async #putStream(source: ByteStream, expected: BlobHash): Promise<BlobRef> {
    const { head, rest } = await readHead(source, this.#uploadChunkBytes);
    if (rest === null) return await this.#putBytes(head, expected);
    const send = new BlobSend(this.#requests, { hash: expected, chunkBytes: this.#uploadChunkBytes });
    return await this.#uploading(Infinity, () => send.stream({ head, rest, blobBytes: this.#blobBytes }));
  }

  /** An answer that ends the upload becomes an `UploadError` with the size of the requests. */
  async #uploading<T>(bytes: number, upload: () => Promise<T>): Promise<T> {
    try {
      return await upload();
    } catch (error) {
      const isAnswered = error instanceof BlobError && error.answer !== null;
      throw isAnswered ? new UploadError(error, Math.min(bytes, this.#uploadChunkBytes)) : error;
    }
  }

  #send(hash: BlobHash, bytes: Uint8Array): Promise<void> {
    const sending = this.#sending.get(hash) ??
      new BlobSend(this.#requests, { hash, chunkBytes: this.#uploadChunkBytes }).bytes(bytes)
        .finally(() => this.#sending.delete(hash));
    this.#sending.set(hash, sending);
    return sending;
  }

  /** The answer includes the size, which saves a request for it. */
  #begin(hash: BlobHash): Promise<BegunDownload> {
    return this.#requests.retry(async () => {
      const response = await this.#requests.ask({ method: "GET", hash });
      await this.#requests.mustBe(response, [200]);
      const ref = { hash, bytes: numberIn(response, "content-length") };
      if (ref.bytes <= this.#blobBytes) return { ref, response };
      await response.body?.cancel();
      throw tooLarge({ limit: this.#blobBytes, value: ref.bytes });
    });
  }

  #beginRange(hash: BlobHash, range: ByteRange): Promise<BegunDownload> {
    return this.#requests.retry(async () => {
      const response = await this.#requests.ask(rangeRequest(hash, range));
      await this.#requests.mustBe(response, [200, 206, 416]);
      const ref = { hash, bytes: numberIn(response, response.status === 200 ? "content-length" : "content-range") };
      const isWhole = range.start === 0 && range.end === ref.bytes;
      if (response.status === (isWhole ? 200 : 206) && range.end <= ref.bytes) return { ref, response };
      await response.body?.cancel();
      checkRange(ref, range);
      throw new BlobError("refused", `Cannot read a part of blob ${hash}: ${this.#requests.url} sends another part`);
    });
  }

  #whole(ref: BlobRef, response: Response): AsyncGenerator<Uint8Array> {
    return verified(this.#chunks(ref, { start: 0, end: ref.bytes }, response), ref);
  }

  /** Over as many connections as needed; progress resets the count of attempts. */
  async *#chunks(ref: BlobRef, range: ByteRange, begun: Response): AsyncGenerator<Uint8Array> {
    let response: Response | null = begun;
    let at = range.start;
    for (let failures = 0; at < range.end;) {
      try {
        response ??= await this.#askRest(ref, { start: at, end: range.end });
        for await (const chunk of this.#requests.body(response)) {
          if (chunk.length > range.end - at) throw tooMuch(ref, this.#requests.url);
          at += chunk.length;
          failures = 0;
          yield chunk;
        }
        if (at < range.end) throw new Interrupted(`the connection ended ${range.end - at} bytes early`);
      } catch (error) {
        failures = await this.#requests.backOff(error, failures);
        response = null;
      }
    }
  }

  async #askRest(ref: BlobRef, range: ByteRange): Promise<Response> {
    const isWhole = range.end - range.start === ref.bytes;
    const response = await this.#requests.ask(
      isWhole ? { method: "GET", hash: ref.hash } : rangeRequest(ref.hash, range),
    );
    await this.#requests.mustBe(response, [isWhole ? 200 : 206]);
    return response;
  }

  async #collectAll(response: Response, bytes: number): Promise<Uint8Array | null> {
    const whole = new Uint8Array(bytes);
    let at = 0;
    for await (const chunk of this.#requests.body(response)) {
      if (chunk.length > bytes - at) return null;
      whole.set(chunk, at);
      at += chunk.length;
    }
    if (at < bytes) throw new Interrupted(`the connection ended ${bytes - at} bytes early`);
    return whole;
  }
}

/** A range that can be requested before the size is known. */
function isSendable({ start, end }: ByteRange): boolean {
  return Number.isSafeInteger(start) && Number.isSafeInteger(end) && start >= 0 && start < end;
}

function rangeRequest(hash: BlobHash, { start, end }: ByteRange): BlobRequest {
  return { method: "GET", hash, headers: { range: `bytes=${start}-${end - 1}` } };
}

/** Reads until there is more than `bytes`; `rest` is null if the stream ended before. */
async function readHead(source: ByteStream, bytes: number): Promise<{ head: Uint8Array; rest: ByteStream | null }> {
  const chunks: Uint8Array[] = [];
  let count = 0;
  const reader = source.getReader();
  while (count <= bytes) {
    const { done, value } = await reader.read();
    if (done) return { head: concatenate(chunks, count), rest: null };
    chunks.push(value);
    count += value.length;
  }
  reader.releaseLock();
  return { head: concatenate(chunks, count), rest: source };
}

function tooMuch(ref: BlobRef, url: string): BlobError {
  return new BlobError("wrongHash", `Cannot read blob ${ref.hash}: ${url} sends more than its ${ref.bytes} bytes`);
}
