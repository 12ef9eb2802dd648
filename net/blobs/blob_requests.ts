/**
 * Authenticated HTTP requests to one blob server over an unreliable network, tried at most `attempts` times in a row
 * without progress. Network failures are `Interrupted`, server answers are `BlobError`. Redirects are rejected.
 */

import type { BlobHash } from "../../core/ids.ts";
import { BlobError, type BlobProblem, cancelQuietly } from "./blobs.ts";
import { type Authorize, ticketHeader } from "../auth/request_auth.ts";
import { emptyBodyHash } from "../auth/signed_headers.ts";
import type { Random, Timers } from "../timers.ts";

export interface BlobRequestsOptions {
  readonly url: string;
  readonly authorize: Authorize;
  readonly timers: Timers;
  readonly random: Random;
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response> | Response;
  readonly attempts?: number;
}

const defaultAttempts = 6;
const firstRetryMs = 250;
const longestRetryMs = 10_000;
const silenceMs = 30_000; // without a byte, then the attempt counts as failed

/** May succeed when repeated. */
export class Interrupted extends Error {
  override name = "Interrupted";
  readonly status: number | null; // null: no answer

  constructor(message: string, options: ErrorOptions & { readonly status?: number } = {}) {
    super(message, options);
    this.status = options.status ?? null;
  }
}

/** The server is waiting for disk space: the client waits without limit, and these attempts are not counted. */
class AwaitingRoom extends Interrupted {
  override name = "AwaitingRoom";
}

export interface BlobRequest {
  readonly method: "GET" | "HEAD" | "PATCH" | "PUT";
  readonly hash: BlobHash;
  /** Absent: the blob itself. */
  readonly part?: "leaves" | "upload";
  readonly headers?: Record<string, string>;
  readonly body?: Uint8Array;
}

export class BlobRequests {
  readonly #options: BlobRequestsOptions;
  readonly #fetch: NonNullable<BlobRequestsOptions["fetch"]>;

  constructor(options: BlobRequestsOptions) {
    this.#options = options;
    this.#fetch = options.fetch ?? ((url, init) => fetch(url, init));
  }

  get url(): string {
    return this.#options.url;
  }

  proven(hash: BlobHash): { url: string; headers: Record<string, string> } {
    const target = `/blobs/${hash}`;
    const { authorize } = this.#options;
    return { url: this.url + target, headers: authorize({ method: "GET", target, bodyHash: emptyBodyHash }) };
  }

  async ask(request: BlobRequest): Promise<Response> {
    const { method, hash, part } = request;
    const path = part === undefined ? `/blobs/${hash}` : `/blobs/${hash}/${part}`;
    const bodyHash = method === "PUT" || method === "PATCH" ? hash : emptyBodyHash;
    const { authorize } = this.#options;
    const signed = { method, target: path, bodyHash };
    const proof = authorize(signed);
    const response = await this.#fetchOnce(request, { path, proof });
    if (response.status !== 401 || proof[ticketHeader] === undefined) return response;
    await response.body?.cancel();
    return await this.#fetchOnce(request, { path, proof: authorize(signed, "signature") });
  }

  async #fetchOnce(
    { method, headers, body }: BlobRequest,
    { path, proof }: { path: string; proof: Record<string, string> },
  ): Promise<Response> {
    const abort = new AbortController();
    const init: RequestInit = {
      method,
      headers: { ...headers, ...proof },
      redirect: "error",
      signal: abort.signal,
      ...body === undefined ? {} : { body: body as Uint8Array<ArrayBuffer> },
    };
    try {
      return await this.#timely(this.#fetch(this.url + path, init));
    } catch (error) {
      abort.abort();
      throw error;
    }
  }

  /** Any other status becomes an error with a message. */
  async mustBe(response: Response, statuses: readonly number[]): Promise<void> {
    if (statuses.includes(response.status)) return;
    const text = (await this.#timely(response.text())).slice(0, 500);
    const said = readProblem(text);
    const detail = `${this.url} answered ${response.status}${text === "" ? "" : `: ${said.detail}`}`;
    if (response.status === 503 && said.code === "diskFull") throw new AwaitingRoom(detail);
    const mayPass = [408, 429].includes(response.status) || (response.status >= 500 && response.status !== 507);
    if (mayPass) throw new Interrupted(detail, { status: response.status });
    throw new BlobError(problemOf(response.status), `Cannot use a blob: ${detail}`, {
      answer: { status: response.status, clockMs: this.#clockMs(response) },
    });
  }

  #clockMs({ headers }: Response): number {
    const atMs = Date.parse(headers.get("date") ?? "");
    return Number.isNaN(atMs) ? 0 : Math.round(atMs - this.#options.timers.nowMs());
  }

  /** Each chunk at most `silenceMs` after the previous one. */
  async *body(response: Response): AsyncGenerator<Uint8Array> {
    if (response.body === null) return;
    const reader = response.body.getReader();
    try {
      for (;;) {
        const { done, value } = await this.#timely(reader.read());
        if (done) return;
        yield value;
      }
    } finally {
      cancelQuietly(reader);
    }
  }

  async retry<T>(attempt: () => Promise<T>): Promise<T> {
    for (let failures = 0;;) {
      try {
        return await attempt();
      } catch (error) {
        failures = await this.backOff(error, failures);
      }
    }
  }

  /** Returns the new count of failures, or throws if there is no next attempt. */
  async backOff(error: unknown, failures: number): Promise<number> {
    if (!(error instanceof Interrupted)) throw error;
    const { attempts = defaultAttempts } = this.#options;
    if (error instanceof AwaitingRoom) {
      await this.#wait(longestRetryMs);
      return failures;
    }
    if (failures + 1 >= attempts) {
      const next = "check the connection and that the orchestrator is running";
      throw new BlobError(
        "unreachable",
        `Cannot reach ${this.url} after ${attempts} attempts: ${error.message}; ${next}`,
        { answer: { status: error.status, clockMs: 0 } },
      );
    }
    await this.#wait(Math.min(longestRetryMs, firstRetryMs * 2 ** failures));
    return failures + 1;
  }

  async #wait(longestMs: number): Promise<void> {
    const { timers, random } = this.#options;
    const waitMs = longestMs * (0.5 + 0.5 * random.unit());
    await new Promise<void>((resolve) => timers.after(waitMs, resolve));
  }

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
}

/** In a range, of the whole blob. */
export function numberIn(response: Response, header: "content-length" | "content-range" | "upload-offset"): number {
  const match = (header === "content-range" ? /\/(\d{1,15})$/ : /^(\d{1,15})$/).exec(
    response.headers.get(header) ?? "",
  );
  if (match !== null) return Number(match[1]);
  throw new BlobError(
    "refused",
    `Cannot use a blob: the answer of ${response.url} has no '${header}'; a proxy may have removed it`,
  );
}

function problemOf(status: number): BlobProblem {
  if (status === 404) return "missing";
  if (status === 413) return "tooLarge";
  if (status === 422) return "wrongHash";
  return status === 507 ? "noSpace" : "refused";
}

/** The error of our own routes, or of a proxy. */
function readProblem(text: string): { code: unknown; detail: string } {
  try {
    const body: unknown = JSON.parse(text);
    if (typeof body === "object" && body !== null && "detail" in body) {
      return { code: "code" in body ? body.code : undefined, detail: String(body.detail) };
    }
  } catch { /* not ours */ }
  return { code: undefined, detail: text };
}
