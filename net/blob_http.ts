/**
 * Blobs over HTTP, the asking side: the hub's store as seen by a node.
 *
 * Owns: retries with jittered back-off, resuming a broken download where it stopped, a limit on silence. Refuses: other
 * redirects and addresses than its own. Invariants: a whole blob is checked against its hash before or while it is handed
 * over; a request is tried at most `attempts` times in a row without progress; at most `blobBytes` are held.
 */

import { type BlobHash, type BlobRef } from "../core/ids.ts";
import {
  BlobError,
  type BlobProblem,
  type BlobSource,
  type BlobStore,
  type ByteRange,
  type ByteStream,
  checkRange,
  collect,
  concatenate,
  hashOf,
  missing,
  tooLarge,
  verified,
} from "./blobs.ts";
import type { Authorize } from "./request_auth.ts";
import type { Random, Timers } from "./timers.ts";

export interface HttpBlobsOptions {
  readonly url: string; // http://host:port
  readonly authorize: Authorize;
  readonly blobBytes: number;
  readonly timers: Timers;
  readonly random: Random;
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response> | Response;
  readonly attempts?: number;
}

const defaultAttempts = 6;
const firstRetryMs = 250;
const longestRetryMs = 10_000;
const silenceMs = 30_000; // without a byte, then the attempt counts as failed

/** An attempt that may go better next time. */
class Interrupted extends Error {
  override name = "Interrupted";
}

type Method = "GET" | "HEAD" | "PUT";

export class HttpBlobs implements BlobStore {
  readonly #options: HttpBlobsOptions;
  readonly #fetch: NonNullable<HttpBlobsOptions["fetch"]>;

  constructor(options: HttpBlobsOptions) {
    this.#options = options;
    this.#fetch = options.fetch ?? ((url, init) => fetch(url, init));
  }

  find(hash: BlobHash): Promise<BlobRef | null> {
    return this.#retry(async () => {
      const response = await this.#ask("HEAD", hash);
      if (response.status === 404) return null;
      await this.#mustBe(response, [200]);
      return { hash, bytes: sizeIn(response) };
    });
  }

  /** A stream is read into memory first: its hash is the address, and a retry needs it again. */
  async put(source: BlobSource, expected?: BlobHash): Promise<BlobRef> {
    const bytes = source instanceof Uint8Array ? source : await this.#readAll(source);
    const limit = this.#options.blobBytes;
    if (bytes.length > limit) throw tooLarge({ limit, value: bytes.length });
    const hash = hashOf(bytes);
    if (expected !== undefined && expected !== hash) {
      throw new BlobError("wrongHash", `Cannot send a blob as its hash must be ${expected}: current value is ${hash}`);
    }
    await this.#retry(async () => {
      const response = await this.#ask("PUT", hash, { body: bytes as Uint8Array<ArrayBuffer> });
      await this.#mustBe(response, [200, 201]);
      await response.body?.cancel();
    });
    return { hash, bytes: bytes.length };
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
    const ref = await this.find(hash);
    if (ref === null) throw missing(hash, this.#options.url);
    checkRange(ref, range);
    return ReadableStream.from(this.#chunks(ref, range));
  }

  /** Starts a whole download; the answer tells the size, which saves asking for it. */
  #begin(hash: BlobHash): Promise<{ ref: BlobRef; response: Response }> {
    return this.#retry(async () => {
      const response = await this.#ask("GET", hash);
      await this.#mustBe(response, [200]);
      const ref = { hash, bytes: sizeIn(response) };
      if (ref.bytes <= this.#options.blobBytes) return { ref, response };
      await response.body?.cancel();
      throw tooLarge({ limit: this.#options.blobBytes, value: ref.bytes });
    });
  }

  #whole(ref: BlobRef, response: Response): AsyncGenerator<Uint8Array> {
    return verified(this.#chunks(ref, { start: 0, end: ref.bytes }, response), ref);
  }

  async #readAll(source: ByteStream): Promise<Uint8Array> {
    const limit = this.#options.blobBytes;
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    for await (const chunk of source) {
      bytes += chunk.length;
      if (bytes > limit) throw tooLarge({ limit, value: bytes });
      chunks.push(chunk);
    }
    return concatenate(chunks, bytes);
  }

  /** The range, however many connections it takes; progress starts the count of attempts anew. */
  async *#chunks(ref: BlobRef, range: ByteRange, begun?: Response): AsyncGenerator<Uint8Array> {
    let response = begun;
    let at = range.start;
    for (let failures = 0; at < range.end;) {
      try {
        response ??= await this.#askRange(ref, { start: at, end: range.end });
        for await (const chunk of this.#body(response)) {
          if (chunk.length > range.end - at) throw tooMuch(ref, this.#options.url);
          at += chunk.length;
          failures = 0;
          yield chunk;
        }
        if (at < range.end) throw new Interrupted(`the connection ended ${range.end - at} bytes early`);
      } catch (error) {
        failures = await this.#backOff(error, failures);
        response = undefined;
      }
    }
  }

  async #askRange(ref: BlobRef, range: ByteRange): Promise<Response> {
    const isWhole = range.end - range.start === ref.bytes;
    const headers = isWhole ? {} : { range: `bytes=${range.start}-${range.end - 1}` };
    const response = await this.#ask("GET", ref.hash, { headers });
    await this.#mustBe(response, [isWhole ? 200 : 206]);
    return response;
  }

  /** The body's chunks, none of them later than `silenceMs` after the one before. */
  async *#body(response: Response): AsyncGenerator<Uint8Array> {
    if (response.body === null) return;
    const reader = response.body.getReader();
    try {
      for (;;) {
        const { done, value } = await this.#timely(reader.read());
        if (done) return;
        yield value;
      }
    } finally {
      reader.cancel().catch(() => {
        // A broken connection has nothing left to cancel.
      });
    }
  }

  /** The call's outcome, in time; what the network did wrong comes as `Interrupted`. */
  async #timely<T>(call: Promise<T> | T): Promise<T> {
    const silence = Promise.withResolvers<never>();
    const cancel = this.#options.timers.after(silenceMs, () => silence.reject(new Interrupted("no byte for 30 s")));
    try {
      return await Promise.race([call, silence.promise]);
    } catch (error) {
      throw error instanceof Error && !(error instanceof Interrupted)
        ? new Interrupted(error.message, { cause: error })
        : error;
    } finally {
      cancel();
    }
  }

  async #ask(method: Method, hash: BlobHash, init: RequestInit = {}): Promise<Response> {
    const path = `/blobs/${hash}`;
    const signed = this.#options.authorize({ method, path, bodyHash: method === "PUT" ? hash : "" });
    const headers = { ...(init.headers as Record<string, string> | undefined), ...signed };
    const abort = new AbortController();
    const request = { ...init, method, headers, redirect: "error", signal: abort.signal } as const;
    try {
      return await this.#timely(this.#fetch(this.#options.url + path, request));
    } catch (error) {
      abort.abort();
      throw error;
    }
  }

  async #mustBe(response: Response, statuses: readonly number[]): Promise<void> {
    if (statuses.includes(response.status)) return;
    const text = (await this.#timely(response.text())).slice(0, 500);
    const detail = `${this.#options.url} answered ${response.status}${text === "" ? "" : `: ${readDetail(text)}`}`;
    if (response.status === 429 || (response.status >= 500 && response.status !== 507)) throw new Interrupted(detail);
    throw new BlobError(problemOf(response.status), `Cannot use a blob as ${detail}`);
  }

  async #retry<T>(attempt: () => Promise<T>): Promise<T> {
    for (let failures = 0;;) {
      try {
        return await attempt();
      } catch (error) {
        failures = await this.#backOff(error, failures);
      }
    }
  }

  /** Waits before the next attempt; the new count of failures, or the error when there is none. */
  async #backOff(error: unknown, failures: number): Promise<number> {
    if (!(error instanceof Interrupted)) throw error;
    const { url, timers, random, attempts = defaultAttempts } = this.#options;
    if (failures + 1 >= attempts) {
      const next = "check the connection and that the orchestrator runs";
      throw new BlobError("unreachable", `Cannot reach ${url} after ${attempts} attempts as ${error.message}; ${next}`);
    }
    const waitMs = Math.min(longestRetryMs, firstRetryMs * 2 ** failures) * (0.5 + 0.5 * random.unit());
    await new Promise<void>((resolve) => timers.after(waitMs, resolve));
    return failures + 1;
  }
}

function sizeIn(response: Response): number {
  const size = response.headers.get("content-length");
  if (size !== null && /^\d{1,15}$/.test(size)) return Number(size);
  throw new BlobError(
    "refused",
    `Cannot use a blob as ${response.url} does not tell its size; a proxy may have removed it`,
  );
}

function tooMuch(ref: BlobRef, url: string): BlobError {
  return new BlobError("wrongHash", `Cannot read blob ${ref.hash} as ${url} sends more than its ${ref.bytes} bytes`);
}

function problemOf(status: number): BlobProblem {
  if (status === 404) return "missing";
  if (status === 413) return "tooLarge";
  if (status === 422) return "wrongHash";
  return status === 507 ? "noSpace" : "refused";
}

/** The sentence of our own routes, or whatever a proxy said. */
function readDetail(text: string): string {
  try {
    const body: unknown = JSON.parse(text);
    if (typeof body === "object" && body !== null && "detail" in body) return String(body.detail);
  } catch { /* not ours */ }
  return text;
}
