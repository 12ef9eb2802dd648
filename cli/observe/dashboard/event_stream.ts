/**
 * Server-sent events: a snapshot first, then changes, the same bytes for all viewers.
 *
 * A viewer holds at most one unread chunk; after dropped changes it gets a new snapshot. A stream ends before the port
 * closes a stranger's connection (net/links/door.ts); the browser reconnects with its last event's id. Invariants: at
 * most `mostViewers` streams, shared between addresses; work and memory do not depend on slow readers.
 */

import type { Cancel, Timers } from "../../../net/timers.ts";

interface EventStreamOptions {
  readonly timers: Timers;
  readonly snapshot: () => string;
  readonly epoch: number; // tells this process's events from earlier ones
  readonly streamMs: number;
  readonly mostViewers: number;
}

interface Viewer {
  readonly origin: string;
  readonly controller: ReadableStreamDefaultController<Uint8Array>;
  isBehind: boolean;
  cancel: Cancel;
}

const keptEvents = 16; // for reconnecting viewers
const retryMs = 300;
const busyRetrySeconds = 5;

export class EventStream {
  readonly #options: EventStreamOptions;
  readonly #viewers = new Set<Viewer>();
  #number = 0;
  #recent: string[] = [];
  #snapshot: { readonly number: number; readonly text: string } | null = null;
  #isClosed = false;

  constructor(options: EventStreamOptions) {
    this.#options = options;
  }

  get viewers(): number {
    return this.#viewers.size;
  }

  send(changesJson: string): void {
    this.#number += 1;
    const text = this.#event("changes", changesJson);
    const bytes = encoder.encode(text);
    this.#recent = [...this.#recent, text].slice(-keptEvents);
    for (const viewer of this.#viewers) {
      if ((viewer.controller.desiredSize ?? 0) > 0 && !viewer.isBehind) viewer.controller.enqueue(bytes);
      else viewer.isBehind = true;
    }
  }

  open(request: Request, origin: string): Response {
    if (request.method === "HEAD") return new Response(null, { headers });
    if (this.#isClosed) return busy("Cannot show the run: this process is ending");
    const { mostViewers } = this.#options;
    if (this.#viewers.size >= mostViewers) this.#makeRoom(origin);
    if (this.#viewers.size >= mostViewers) {
      return busy(`Cannot show the run: ${mostViewers} viewers follow it already, which is the limit; try again later`);
    }
    return new Response(this.#stream(request.headers.get("last-event-id"), origin), { headers });
  }

  close(): void {
    this.#isClosed = true;
    for (const viewer of [...this.#viewers]) this.#end(viewer);
  }

  #stream(lastId: string | null, origin: string): ReadableStream<Uint8Array> {
    let viewer: Viewer;
    return new ReadableStream<Uint8Array>({
      start: (controller) => {
        const cancel = this.#options.timers.after(this.#options.streamMs, () => this.#end(viewer));
        viewer = { origin, controller, isBehind: false, cancel };
        this.#viewers.add(viewer);
        controller.enqueue(encoder.encode(`retry: ${retryMs}\n\n${this.#missedSince(lastId)}`));
      },
      pull: (controller) => {
        if (!viewer.isBehind) return;
        viewer.isBehind = false;
        controller.enqueue(encoder.encode(this.#snapshotText()));
      },
      cancel: () => void this.#leave(viewer),
    }, { highWaterMark: 1 });
  }

  /** A snapshot if those events are gone. */
  #missedSince(lastId: string | null): string {
    const [epoch, number] = (lastId ?? "").split("-").map(Number);
    const missed = number === undefined || epoch !== this.#options.epoch ? NaN : this.#number - number;
    if (!(missed >= 0 && missed <= this.#recent.length)) return this.#snapshotText();
    return this.#recent.slice(this.#recent.length - missed).join("");
  }

  #snapshotText(): string {
    if (this.#snapshot?.number !== this.#number) {
      this.#snapshot = { number: this.#number, text: this.#event("snapshot", this.#options.snapshot()) };
    }
    return this.#snapshot.text;
  }

  #event(name: "snapshot" | "changes", json: string): string {
    return `id: ${this.#options.epoch}-${this.#number}\nevent: ${name}\ndata: ${json}\n\n`;
  }

  #end(viewer: Viewer): void {
    if (this.#leave(viewer)) viewer.controller.close();
  }

  /** The origin with most viewers loses its oldest to one that will still have fewer. */
  #makeRoom(origin: string): void {
    const byOrigin = Map.groupBy(this.#viewers, (viewer) => viewer.origin);
    const crowd = [...byOrigin.values()].reduce((most, viewers) => viewers.length > most.length ? viewers : most);
    const own = byOrigin.get(origin)?.length ?? 0;
    if (crowd.length > own + 1) this.#end(crowd[0]!);
  }

  #leave(viewer: Viewer): boolean {
    viewer.cancel();
    return this.#viewers.delete(viewer);
  }
}

const encoder = new TextEncoder();

const headers = {
  "content-type": "text/event-stream; charset=utf-8",
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
  "x-accel-buffering": "no", // nginx must not buffer
};

function busy(detail: string): Response {
  return Response.json({ code: "limitExceeded", detail }, {
    status: 503,
    headers: { "retry-after": String(busyRetrySeconds) },
  });
}
