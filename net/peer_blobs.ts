/**
 * What a reachable node serves to other nodes, by signed requests with a pass (peer_pass.ts): the newest vectors of its
 * stage. A request over the limit costs no signature check.
 */

import { Hono } from "hono";
import { fault } from "../core/fault.ts";
import type { BlobRef, NodeId } from "../core/ids.ts";
import type { MemoryBlobs } from "./blobs/blob_memory.ts";
import { blobReadRoutes } from "./blobs/blob_routes.ts";
import type { Verify } from "./auth/hello.ts";
import type { NetLimits } from "./limits.ts";
import { PassCheck, type PassIssuer } from "./auth/peer_pass.ts";
import { RequestGate } from "./auth/request_auth.ts";
import type { Timers } from "./timers.ts";

interface PeerBlobsOptions {
  readonly self: NodeId;
  readonly store: MemoryBlobs; // used only by this server
  readonly verify: Verify;
  readonly limits: NetLimits;
  readonly timers: Timers;
  readonly onError: (error: Error) => void;
}

export class PeerBlobs {
  readonly #store: MemoryBlobs;
  readonly #app: Hono;
  readonly #passes: PassCheck;

  constructor(options: PeerBlobsOptions) {
    const { self, store, verify, limits, timers } = options;
    const rate = new RequestRate(limits.peerRequestsPerSecond, timers);
    const busy = fault("limitExceeded", "This node already answers as many requests as it can; ask another");
    const admit = () => rate.take() ? null : busy;
    const gate = new RequestGate({ self, verify, tickets: null, limits, timers, admit });
    this.#store = store;
    this.#app = new Hono();
    this.#passes = new PassCheck({ verify, limits, timers });
    const routes = blobReadRoutes({
      store,
      check: (request, headers) => gate.check(request, headers),
      mayRead: (asked) => this.#passes.opens(asked),
    });
    this.#app.route("/", routes);
    this.#app.notFound((context) =>
      context.json({ code: "missing", detail: "There is nothing at this path; try /blobs" }, 404)
    );
    this.#app.onError((error, context) => {
      options.onError(error);
      return context.json({ code: "storage", detail: "The request failed here" }, 500);
    });
  }

  fetch(request: Request, trust?: () => void): Response | Promise<Response> {
    return this.#app.fetch(request, { trust });
  }

  trust(issuer: PassIssuer): void {
    this.#passes.trust(issuer);
  }

  /** Serves only these from now on, without copying; the old ones stay until the new ones are hashed. */
  async hold(vectors: readonly Uint8Array[]): Promise<readonly BlobRef[]> {
    const refs: BlobRef[] = [];
    for (const bytes of vectors) refs.push(await this.#store.adopt(bytes));
    const held = new Set(refs.map(({ hash }) => hash));
    for (const { hash } of await Array.fromAsync(this.#store.list())) {
      if (!held.has(hash)) await this.#store.delete(hash);
    }
    return refs;
  }
}

class RequestRate {
  readonly #perSecond: number;
  readonly #timers: Timers;
  #tokens: number;
  #atMs: number;

  constructor(perSecond: number, timers: Timers) {
    this.#perSecond = perSecond;
    this.#timers = timers;
    this.#tokens = perSecond;
    this.#atMs = timers.nowMs();
  }

  take(): boolean {
    const nowMs = this.#timers.nowMs();
    const gained = Math.max(0, nowMs - this.#atMs) * this.#perSecond / 1000; // a clock may be set back
    this.#tokens = Math.min(this.#perSecond, this.#tokens + gained);
    this.#atMs = nowMs;
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }
}
