/**
 * One large upload in parts, client side: acknowledged bytes are never sent again. Bytes beyond the part being sent are
 * not held; progress resets the count of attempts.
 */

import type { BlobHash, BlobRef } from "../../core/ids.ts";
import { type BlobRequests, Interrupted, numberIn } from "./blob_requests.ts";
import { BlobError, BlobMeter, type ByteStream, cancelQuietly, concatenate } from "./blobs.ts";

interface Part {
  readonly bytes: Uint8Array;
  readonly isLast: boolean;
}

/** Null: bytes at this offset are no longer held. */
type ReadPart = (offset: number) => Promise<Part | null>;

type Progress = { readonly type: "offset"; readonly offset: number } | { readonly type: "stored" };

interface BlobSendOptions {
  readonly hash: BlobHash;
  readonly chunkBytes: number;
}

export class BlobSend {
  readonly #requests: BlobRequests;
  readonly #hash: BlobHash;
  readonly #chunkBytes: number;
  #hasRestarted = false;

  constructor(requests: BlobRequests, { hash, chunkBytes }: BlobSendOptions) {
    this.#requests = requests;
    this.#hash = hash;
    this.#chunkBytes = chunkBytes;
  }

  async bytes(bytes: Uint8Array): Promise<void> {
    await this.#send((offset) => {
      const end = Math.min(bytes.length, offset + this.#chunkBytes);
      return Promise.resolve({ bytes: bytes.subarray(offset, end), isLast: end === bytes.length });
    });
  }

  /** `head` is the part of the stream already read. Always reads it to its end. */
  async stream(from: { head: Uint8Array; rest: ByteStream; blobBytes: number }): Promise<BlobRef> {
    const window = new StreamWindow(from, { hash: this.#hash, chunkBytes: this.#chunkBytes });
    try {
      await this.#send((offset) => window.read(offset));
      return await window.finish();
    } catch (error) {
      await window.cancel();
      throw error;
    }
  }

  async #send(read: ReadPart): Promise<void> {
    let progress: Progress | null = null;
    let furthest = 0;
    for (let failures = 0;;) {
      try {
        progress ??= await this.#ask();
        if (progress.type === "stored") return;
        if (progress.offset > furthest) failures = 0;
        furthest = Math.max(furthest, progress.offset);
        const part = await read(progress.offset);
        if (part === null) throw lost(this.#hash, this.#requests.url);
        progress = await this.#append(progress.offset, part);
      } catch (error) {
        progress = null;
        failures = await this.#requests.backOff(error, failures);
      }
    }
  }

  async #ask(): Promise<Progress> {
    const response = await this.#requests.ask({ method: "GET", hash: this.#hash, part: "upload" });
    await this.#requests.mustBe(response, [200, 204]);
    await response.body?.cancel();
    return response.status === 200
      ? { type: "stored" }
      : { type: "offset", offset: numberIn(response, "upload-offset") };
  }

  async #append(offset: number, { bytes, isLast }: Part): Promise<Progress> {
    const headers = { "upload-offset": String(offset), "upload-complete": isLast ? "?1" : "?0" };
    const response = await this.#requests.ask({ method: "PATCH", hash: this.#hash, headers, body: bytes });
    if (response.status === 409) {
      await response.body?.cancel();
      throw new Interrupted(`the server is not at byte ${offset} of the upload`);
    }
    if (response.status === 422 && !this.#hasRestarted) {
      this.#hasRestarted = true; // the server has dropped its bytes
      await response.body?.cancel();
      throw new Interrupted("the server had other bytes from an earlier upload");
    }
    await this.#requests.mustBe(response, [200, 201, 204]);
    await response.body?.cancel();
    if (response.status !== 204) return { type: "stored" };
    const reached = numberIn(response, "upload-offset");
    if (reached > offset + bytes.length) {
      throw new BlobError("refused", `Cannot send a blob: ${this.#requests.url} counts bytes that were not sent`);
    }
    if (reached <= offset) throw new Interrupted(`the server took nothing at byte ${offset} of the upload`);
    return { type: "offset", offset: reached };
  }
}

/** A stream seen through a window of one part, which only moves forward. */
class StreamWindow {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #options: BlobSendOptions;
  readonly #meter: BlobMeter;
  #start = 0;
  #bytes: Uint8Array = new Uint8Array(0);
  #next: Uint8Array; // read, but not yet in the window
  #hasEnded = false;

  constructor(from: { head: Uint8Array; rest: ByteStream; blobBytes: number }, options: BlobSendOptions) {
    this.#reader = from.rest.getReader();
    this.#options = options;
    this.#meter = new BlobMeter(from.blobBytes);
    this.#meter.add(from.head);
    this.#next = from.head;
  }

  async read(offset: number): Promise<Part | null> {
    if (offset < this.#start) return null;
    while (offset >= this.#start + this.#bytes.length && !this.#isAtEnd) await this.#advance();
    if (offset > this.#start + this.#bytes.length) return null; // the server claims more bytes than exist
    return { bytes: this.#bytes.subarray(offset - this.#start), isLast: this.#isAtEnd };
  }

  async finish(): Promise<BlobRef> {
    while (!this.#isAtEnd) await this.#advance();
    return { hash: this.#options.hash, bytes: this.#meter.bytes };
  }

  async cancel(): Promise<void> {
    await cancelQuietly(this.#reader);
  }

  get #isAtEnd(): boolean {
    return this.#hasEnded && this.#next.length === 0;
  }

  /** The end is known with the last window, unless the stream ends exactly there. */
  async #advance(): Promise<void> {
    this.#start += this.#bytes.length;
    const chunks = [this.#next];
    let count = this.#next.length;
    while (count < this.#options.chunkBytes && !this.#hasEnded) {
      const { done, value } = await this.#reader.read();
      if (done) this.#end();
      else {
        this.#meter.add(value);
        chunks.push(value);
        count += value.length;
      }
    }
    const whole = concatenate(chunks, count);
    this.#bytes = whole.subarray(0, this.#options.chunkBytes);
    this.#next = whole.subarray(this.#options.chunkBytes);
  }

  /** Bytes that do not match the name are rejected here, before the last of them are sent. */
  #end(): void {
    this.#hasEnded = true;
    this.#meter.finish(this.#options.hash);
  }
}

function lost(hash: BlobHash, url: string): BlobError {
  return new BlobError(
    "unreachable",
    `Cannot continue sending blob ${hash}: ${url} lost its beginning; send it again`,
  );
}
