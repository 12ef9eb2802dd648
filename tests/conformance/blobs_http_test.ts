/** The HTTP client over the hub's routes keeps the promises of every blob store, with and without sockets. */

import { DiskBlobs } from "../../net/blob_disk.ts";
import { MemoryBlobs } from "../../net/blob_memory.ts";
import { defaultNetLimits } from "../../net/limits.ts";
import { listen } from "../../net/server.ts";
import { BlobWorld } from "../support/blob_world.ts";
import { blobSuite, suiteCapacity } from "./blobs_suite.ts";

const { blobBytes } = suiteCapacity;

blobSuite("a hub, by routes alone", () => {
  const world = new BlobWorld({ store: new MemoryBlobs(suiteCapacity), blobBytes });
  return Promise.resolve({ store: world.client(), close: () => Promise.resolve() });
});

blobSuite("a hub, by HTTP from its disk", async () => {
  const folder = await Deno.makeTempDir({ prefix: "iota-blobs-" });
  const world = new BlobWorld({ store: await DiskBlobs.open({ ...suiteCapacity, folder }), blobBytes });
  const listener = await listen({
    host: "127.0.0.1",
    port: 0,
    limits: defaultNetLimits,
    accept: (wire) => {
      wire.close("no sockets here");
      return { frame: () => {}, closed: () => {} };
    },
    fetch: (request) => world.app.fetch(request),
  });
  const close = async () => {
    await listener.close();
    await Deno.remove(folder, { recursive: true });
  };
  return { store: world.client({ url: listener.url }), close };
});
