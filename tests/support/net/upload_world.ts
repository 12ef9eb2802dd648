/** An orchestrator whose disk outlives it, and a network that breaks off uploads; time is manual and a client's waits end at once. */

import { DiskBlobs } from "../../../net/blobs/blob_disk.ts";
import type { QuotaLimits } from "../../../net/blobs/blob_quota.ts";
import { HttpBlobs, type HttpBlobsOptions } from "../../../net/blobs/blob_http.ts";
import { DiskUploads } from "../../../net/blobs/blob_uploads.ts";
import { defaultNetLimits, type NetLimits } from "../../../net/limits.ts";
import { BlobWorld } from "./blob_world.ts";
import { countingRandom, ManualTimers } from "./manual_timers.ts";

type Fetch = (url: string, init: RequestInit) => Promise<Response>;

const silenceMs = 30_000;

export class UploadWorld {
  readonly folder: string;
  readonly limits: NetLimits;
  store!: DiskBlobs;
  uploads!: DiskUploads;
  world!: BlobWorld;
  sentBytes = 0; // in bodies, lost or not
  requests: string[] = [];
  /** Of the next upload requests: after how many bytes each breaks; null: it does not. */
  cuts: (number | null)[] = [];
  /** What happens while the client waits for its next attempt. */
  onWait: () => Promise<void> = () => Promise.resolve();

  private constructor(folder: string, limits: Partial<NetLimits>, readonly quota: Partial<QuotaLimits>) {
    this.folder = folder;
    this.limits = { ...defaultNetLimits, blobBytes: 20_000_000, ...limits };
  }

  static async open(
    folder: string,
    limits: Partial<NetLimits> = {},
    { quota = {}, timers }: { quota?: Partial<QuotaLimits>; timers?: ManualTimers } = {},
  ): Promise<UploadWorld> {
    const world = new UploadWorld(folder, limits, quota);
    await world.start(timers);
    return world;
  }

  /** Also after `stop`, as a restarted process does. */
  async start(timers = new ManualTimers()): Promise<void> {
    const { folder, limits } = this;
    this.store = await DiskBlobs.open({
      ...{ folder: `${folder}/blobs`, blobBytes: limits.blobBytes },
      capacityBytes: 50_000_000,
    });
    this.uploads = await DiskUploads.open({ folder: `${folder}/uploads`, store: this.store, limits, timers });
    const { store, uploads } = this;
    this.world = new BlobWorld({
      store,
      uploads,
      blobBytes: limits.blobBytes,
      nonces: 10_000,
      limits,
      quota: this.quota,
      timers,
    });
  }

  async stop(): Promise<void> {
    await this.uploads.close();
  }

  /** Of the admitted node; it survives a restart of the orchestrator, as its signatures are for orchestrator and run alone. */
  client(options: Partial<HttpBlobsOptions> = {}): HttpBlobs {
    const { timers } = this.world;
    return this.world.client({
      uploadChunkBytes: 2_000_000,
      timers: {
        nowMs: () => timers.nowMs(),
        steadyMs: () => timers.nowMs(),
        after: (delayMs, callback) => {
          if (delayMs === silenceMs) return timers.after(delayMs, callback);
          this.onWait().then(callback);
          return () => {};
        },
      },
      random: countingRandom(5),
      fetch: (url, init) => this.#fetch(url, init),
      ...options,
    });
  }

  readonly #fetch: Fetch = async (url, init) => {
    const body = init.body as Uint8Array | undefined;
    this.requests.push(`${init.method} ${new Headers(init.headers).get("upload-offset") ?? ""}`.trim());
    const cut = body === undefined ? null : this.cuts.shift() ?? null;
    if (body === undefined || cut === null) {
      this.sentBytes += body?.length ?? 0;
      return await this.world.app.request(url, init);
    }
    const { length } = body.subarray(0, cut);
    this.sentBytes += length;
    const broken = { ...init, body: cutAfter(body, cut), duplex: "half" };
    await this.world.app.request(url, broken);
    throw new TypeError("connection reset");
  };
}

/** `bytes` in pieces, until the connection breaks. */
function cutAfter(body: Uint8Array, bytes: number): ReadableStream<Uint8Array> {
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      if (at >= bytes) return controller.error(new TypeError("connection reset"));
      const end = Math.min(bytes, at + 65_536);
      controller.enqueue(body.slice(at, end));
      at = end;
    },
  });
}
