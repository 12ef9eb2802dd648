/** The HTTP client over the orchestrator's routes keeps the promises of every blob store, with and without sockets. */

import { DiskBlobs } from "../../net/blobs/blob_disk.ts";
import type { HttpBlobsOptions } from "../../net/blobs/blob_http.ts";
import { MemoryBlobs } from "../../net/blobs/blob_memory.ts";
import { DiskUploads } from "../../net/blobs/blob_uploads.ts";
import type { BlobStore } from "../../net/blobs/blobs.ts";
import { defaultNetLimits } from "../../net/limits.ts";
import { listen } from "../../net/server.ts";
import { BlobWorld } from "../support/net/blob_world.ts";
import { ManualTimers } from "../support/net/manual_timers.ts";
import { blobSuite, type OpenedStore, suiteCapacity } from "./blobs_suite.ts";

const { blobBytes } = suiteCapacity;

blobSuite("an orchestrator, by routes alone", () => {
  const world = new BlobWorld({ store: new MemoryBlobs(suiteCapacity), blobBytes });
  return Promise.resolve({
    store: world.client(),
    locates: "url",
    fetch: (url, init) => Promise.resolve(world.app.request(String(url), init)),
    close: () => Promise.resolve(),
  });
});

async function overHttp(options: Partial<HttpBlobsOptions>): Promise<OpenedStore<BlobStore>> {
  const folder = await Deno.makeTempDir({ prefix: "iota-blobs-" });
  const store = await DiskBlobs.open({ ...suiteCapacity, folder: `${folder}/blobs` });
  const limits = { ...defaultNetLimits, blobBytes };
  const uploads = await DiskUploads.open({ folder: `${folder}/uploads`, store, limits, timers: new ManualTimers() });
  const world = new BlobWorld({ store, uploads, blobBytes });
  const listener = await listen({
    host: "127.0.0.1",
    port: 0,
    limits,
    accept: (wire) => {
      wire.close("no sockets here");
      return { frame: () => {}, closed: () => {} };
    },
    fetch: (request) => world.app.fetch(request),
  });
  const close = async () => {
    await listener.close();
    await uploads.close();
    await Deno.remove(folder, { recursive: true });
  };
  return { store: world.client({ url: listener.url, ...options }), locates: "url", close };
}

blobSuite("an orchestrator, by HTTP from its disk", () => overHttp({}));
blobSuite("an orchestrator, by HTTP in parts", () => overHttp({ uploadChunkBytes: 300_000 }));
