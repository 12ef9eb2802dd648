/**
 * `/api/v1/run`, its OpenAPI document, `/events` and the link preview. Computed only on demand, at most every
 * `everyMs`. Large changes wait longer, so that a viewer costs at most `viewerBytesPerSecond`.
 */

import { defaultNetLimits } from "../../../net/limits.ts";
import type { Cancel } from "../../../net/timers.ts";
import type { ConsumerContext, ProjectionConsumer } from "../consumer.ts";
import { EventStream } from "./event_stream.ts";
import { openApi } from "./open_api.ts";
import { previewPng } from "./preview.ts";
import { runSnapshot } from "../public/public_run.ts";
import { changesJson, partsOf, snapshotJson, type SnapshotParts } from "./run_changes.ts";

const everyMs = 500;
const previewMs = 30_000; // a drawing blocks the loop for 15 ms
const mostViewers = 64;
const viewerBytesPerSecond = 64 * 1024;
const streamMs = defaultNetLimits.helloMs - 2_000; // before the port ends the request

export function openRunApi(context: ConsumerContext): ProjectionConsumer {
  const feed = new RunFeed(context);
  return {
    onRecord: () => feed.changed(),
    pages: {
      "/api/v1/run": () => new Response(feed.json(), { headers }),
      "/api/v1/openapi.json": () => new Response(openApi(), { headers }),
      "/preview.png": () => new Response(feed.preview(), { headers: { ...headers, "content-type": "image/png" } }),
      "/events": (request, origin) => feed.follow(request, origin),
    },
    close: () => feed.close(),
  };
}

class RunFeed {
  readonly #context: ConsumerContext;
  readonly #stream: EventStream;
  #parts: SnapshotParts; // what viewers have after their next chunk
  #takenAtMs: number; // steady clock
  #json: string | null = null;
  #cancel: Cancel | null = null;
  #preview: { readonly atMs: number; readonly png: Uint8Array<ArrayBuffer> } | null = null;
  #waitMs = everyMs;

  constructor(context: ConsumerContext) {
    this.#context = context;
    this.#parts = this.#take();
    this.#takenAtMs = context.timers.steadyMs();
    this.#stream = new EventStream({
      ...{ timers: context.timers, streamMs, mostViewers },
      epoch: context.nowMs(),
      snapshot: () => this.#asJson(),
    });
  }

  changed(): void {
    if (this.#stream.viewers > 0) this.#updateSoon();
  }

  preview(): Uint8Array<ArrayBuffer> {
    const nowMs = this.#context.timers.steadyMs();
    if (this.#preview === null || nowMs - this.#preview.atMs >= previewMs) {
      const { view, nowMs: wallMs } = this.#context;
      const { run } = runSnapshot(view, { sequence: 0, atMs: wallMs() });
      this.#preview = { atMs: nowMs, png: previewPng(run) };
    }
    return this.#preview.png;
  }

  json(): string {
    this.#updateIfOld();
    return this.#asJson();
  }

  follow(request: Request, origin: string): Response {
    this.#updateIfOld();
    this.#updateSoon();
    return this.#stream.open(request, origin);
  }

  close(): void {
    this.#cancel?.();
    this.#update();
    this.#stream.close();
  }

  #updateSoon(): void {
    this.#cancel ??= this.#context.timers.after(this.#waitMs, () => {
      this.#cancel = null;
      this.#update();
    });
  }

  #updateIfOld(): void {
    if (this.#context.timers.steadyMs() - this.#takenAtMs >= this.#waitMs) this.#update();
  }

  #update(): void {
    const parts = this.#take();
    const changes = changesJson(this.#parts, parts);
    this.#parts = parts;
    this.#json = null;
    this.#takenAtMs = this.#context.timers.steadyMs();
    if (changes === null) return;
    this.#waitMs = Math.max(everyMs, changes.length * 1_000 / viewerBytesPerSecond);
    this.#stream.send(changes);
  }

  #take(): SnapshotParts {
    const { view, sequence, nowMs } = this.#context;
    return partsOf(runSnapshot(view, { sequence: sequence(), atMs: nowMs() }));
  }

  #asJson(): string {
    return this.#json ??= snapshotJson(this.#parts);
  }
}

const headers = {
  "content-type": "application/json; charset=utf-8",
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
};
