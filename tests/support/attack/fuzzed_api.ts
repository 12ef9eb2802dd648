/** The orchestrator's HTTP side, fed with fuzzed requests; every answer must be an intended one. */

import { assert } from "@std/assert";
import { MemoryBlobs } from "../../../net/blobs/blob_memory.ts";
import { faultCodes } from "../../../net/messages/schema_values.ts";
import { emptyBodyHash } from "../../../net/auth/signed_headers.ts";
import { BlobWorld } from "../net/blob_world.ts";
import type { Below } from "./fuzzed_hub.ts";

const blobBytes = 100_000;
const meant = new Set([200, 201, 204, 206, 400, 401, 403, 404, 409, 413, 416, 422, 429, 507]);
const codes = new Set<string>([
  ...faultCodes,
  ...["missing", "wrongHash", "tooLarge", "noSpace", "storage", "refused", "appended", "misplaced"],
]);
const paths = ["/", "/healthz", "/status", "/blobs", "/blobs/", "/%00", "//", "/status/..", "/blobs/%2e%2e/status"];
const ends = ["", "", "", "/leaves", "/upload", "/other", "?a=b", "/", "#x"];
const methods = ["GET", "GET", "GET", "HEAD", "PUT", "PATCH", "DELETE", "POST", "OPTIONS", "PURGE"];
const values = [
  "",
  "0",
  "-1",
  "bytes=0-1",
  "bytes=9-",
  "bytes=5-4",
  "999999999999999",
  "1e9",
  "?1",
  "null",
  "x".repeat(300),
];
const names = ["range", "upload-offset", "upload-complete", "content-length", "if-match", "x-forwarded-for"];

const pick = <T>(below: Below, choices: readonly T[]): T => choices[below(choices.length)]!;

export class FuzzedApi {
  readonly outcomes = new Map<string, number>();
  readonly #store = new MemoryBlobs({ blobBytes, capacityBytes: 10 * blobBytes });
  readonly #world = new BlobWorld({ store: this.#store, blobBytes, nonces: 1_000_000 });
  readonly #authorize = this.#world.authorize({ ticket: this.#world.ticketOf(this.#world.node.address) });
  #names: string[] = ["0".repeat(64), "ab".repeat(32), "AB".repeat(32), "ab".repeat(31)];

  async open(): Promise<void> {
    const { hash } = await this.#store.put(new Uint8Array(5000).fill(3));
    this.#names = [hash, hash, hash, ...this.#names];
  }

  async tryRequest(below: Below): Promise<void> {
    const name = pick(below, this.#names);
    const path = below(6) === 0 ? pick(below, paths) : `/blobs/${name}${pick(below, ends)}`;
    const method = pick(below, methods);
    const headers = this.#headers(below, { method, path, name });
    const body = method === "GET" || method === "HEAD" ? {} : { body: new Uint8Array(below(2000)) };
    const request = new Request(`http://hub${path}`, { method, headers, ...body });
    const response = await this.#world.app.fetch(request);
    const told = `${method} ${path} ${JSON.stringify(headers)} gave ${response.status}`;
    assert(meant.has(response.status), told);
    const text = await response.text();
    if (response.status >= 400 && method !== "HEAD") {
      const { code, detail } = JSON.parse(text);
      assert(codes.has(code) && typeof detail === "string" && detail.length < 600, `${told}: ${text}`);
    }
    this.outcomes.set(`http: ${response.status}`, (this.outcomes.get(`http: ${response.status}`) ?? 0) + 1);
    assert(this.#world.errors.length === 0, told);
    this.#world.forget(); // what it keeps for other tests would count as growth
    if (below(50) === 0) this.#world.timers.advance(5_000); // so that nonces expire, as they do in production
  }

  #headers(below: Below, to: { method: string; path: string; name: string }): Record<string, string> {
    const { method, path, name } = to;
    const bodyHash = method === "PUT" || method === "PATCH" ? name : emptyBodyHash;
    const headers: Record<string, string> = below(5) === 0
      ? {}
      : { ...this.#authorize({ method, target: path, bodyHash }) };
    for (let count = below(3); count > 0; count--) headers[pick(below, names)] = pick(below, values);
    const proofs = Object.keys(headers);
    if (proofs.length > 0 && below(3) === 0) headers[pick(below, proofs)] = pick(below, values);
    return headers;
  }
}
