/**
 * How long one exchange with the orchestrator takes on this machine, and how fast blobs move, both ends in this one
 * process: `deno bench -A` this file. How much an orchestrator relays is measured by `iota bench hub`.
 *
 * The time of an iteration is for the amount in its name; MB/s = amount / time. Blobs go to a disk store and are synced.
 */

import { dialWebSocket } from "../../../../net/links/client.ts";
import { DiskBlobs } from "../../../../net/blobs/blob_disk.ts";
import { defaultNetLimits } from "../../../../net/limits.ts";
import { listen } from "../../../../net/server.ts";
import { TransportWorld } from "../../../conformance/transport_world.ts";
import { BlobWorld } from "../../../support/net/blob_world.ts";

const mebibyte = 1024 * 1024;
const capacity = { blobBytes: 64 * mebibyte, capacityBytes: 2 ** 40 };
const folder = await Deno.makeTempDir({ prefix: "iota-bench-" });
globalThis.addEventListener("unload", () => Deno.removeSync(folder, { recursive: true }));

const blobs = new BlobWorld({ store: await DiskBlobs.open({ ...capacity, folder }), ...capacity, nonces: 1e6 });
const world = new TransportWorld(async ({ accept, limits }) => {
  const fetch = (request: Request) => blobs.app.fetch(request);
  const listener = await listen({ host: "127.0.0.1", port: 0, limits, accept, fetch });
  return { url: listener.url.replace("http", "ws"), dial: dialWebSocket, stop: () => listener.close() };
}, { limits: defaultNetLimits });
await world.start();
const { node, events, signer } = await world.joined(1);
const client = blobs.client({ url: world.medium.url.replace("ws", "http") });

const result = new Uint8Array(16 * 1024);
let seed = 0;

/** Bytes that no store has seen. */
function fresh(bytes: number): Uint8Array {
  const content = new Uint8Array(bytes);
  new DataView(content.buffer).setFloat64(0, ++seed);
  return content;
}

// Without TCP_NODELAY on both ends this one takes 42 ms: Nagle's algorithm waits for a delayed acknowledgement.
Deno.bench("WebSocket: a 16 KiB result and the next task", async () => {
  node.send({ note: 1 }, [result]);
  await world.hubEvents.next("message");
  world.hub.send(signer.address, { note: 2 }, [result]);
  await events.next("message");
});

Deno.bench("WebSocket: one question and its answer", async () => {
  node.send({ note: 1 });
  await world.hubEvents.next("message");
  world.hub.send(signer.address, { note: 2 });
  await events.next("message");
});

Deno.bench("blob PUT, 16 MiB", async () => {
  await client.put(fresh(16 * mebibyte));
});

const { hash } = await client.put(fresh(16 * mebibyte));
Deno.bench("blob GET, 16 MiB", async () => {
  await client.get(hash);
});

const small = await client.put(fresh(16 * 1024));
Deno.bench("blob GET, 16 KiB", async () => {
  await client.get(small.hash);
});
