/**
 * Large blobs between machines, all in this one process: how fast, and how much memory: `deno bench -A` this file.
 *
 * The time of an iteration is for the amount in its name. "peak" is the largest growth of the resident set while a stream
 * passed through client, orchestrator and disk; it must not grow with the stream.
 */

import { DiskBlobs } from "../../../../net/blobs/blob_disk.ts";
import { fetchBlob } from "../../../../net/blobs/blob_fetch.ts";
import { hashOf, TreeDigest } from "../../../../net/blob_hash.ts";
import { DiskUploads } from "../../../../net/blobs/blob_uploads.ts";
import type { ByteStream } from "../../../../net/blobs/blobs.ts";
import { defaultNetLimits } from "../../../../net/limits.ts";
import { listen } from "../../../../net/server.ts";
import { systemTimers } from "../../../../net/timers.ts";
import { BlobWorld } from "../../../support/net/blob_world.ts";
import { sourceOf } from "../../../support/net/scripted_source.ts";
import { varied } from "../../../support/net/varied_bytes.ts";

const mebibyte = 1024 * 1024;
const streamBytes = 200 * mebibyte;
const limits = { ...defaultNetLimits, blobBytes: 1024 * mebibyte };
const folder = await Deno.makeTempDir({ prefix: "iota-bench-" });
globalThis.addEventListener("unload", () => Deno.removeSync(folder, { recursive: true }));

async function openHub(name: string) {
  const store = await DiskBlobs.open({ ...limits, folder: `${folder}/${name}`, capacityBytes: 2 ** 40 });
  const uploads = await DiskUploads.open({ folder: `${folder}/${name}-uploads`, store, limits, timers: systemTimers });
  const world = new BlobWorld({ store, uploads, blobBytes: limits.blobBytes, nonces: 1e6 });
  const accept = () => ({ frame: () => {}, closed: () => {} });
  const fetch = (request: Request) => world.app.fetch(request);
  const { url } = await listen({ host: "127.0.0.1", port: 0, limits, accept, fetch });
  return { store, client: world.client({ url }) };
}

const [a, b] = [await openHub("a"), await openHub("b")];
const piece = varied(mebibyte, 1);
let seed = 0;
let peakBytes = 0;

/** 200 MiB that no store has seen, and their name; `watch` looks at memory as they pass. */
function fresh(): { stream: ByteStream; hash: ReturnType<typeof hashOf> } {
  const first = varied(mebibyte, ++seed);
  const digest = new TreeDigest();
  const pieces = streamBytes / mebibyte;
  for (let index = 0; index < pieces; index++) digest.update(index === 0 ? first : piece);
  let index = 0;
  const baseBytes = Deno.memoryUsage().rss;
  const stream = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (index === pieces) return controller.close();
      peakBytes = Math.max(peakBytes, Deno.memoryUsage().rss - baseBytes);
      controller.enqueue((index++ === 0 ? first : piece).slice());
    },
  });
  return { stream, hash: digest.finish().ref.hash };
}

globalThis.addEventListener("unload", () => console.log(`peak ${(peakBytes / mebibyte).toFixed(0)} MiB`));

Deno.bench("hash of 64 MiB", { n: 5 }, () => {
  hashOf(new Uint8Array(64 * mebibyte));
});

Deno.bench("stream of 200 MiB to a disk store", { n: 3, warmup: 1 }, async () => {
  const { stream, hash } = fresh();
  await a.store.put(stream, hash);
});

Deno.bench("stream of 200 MiB over HTTP in parts to a disk store", { n: 3, warmup: 1 }, async () => {
  const { stream, hash } = fresh();
  await a.client.put(stream, hash);
});

const large = varied(64 * mebibyte, 99);
const ref = await a.store.put(large);
await b.store.put(large);

Deno.bench("GET of 64 MiB from one orchestrator", async () => {
  await a.client.get(ref.hash);
});

for (const count of [1, 2]) {
  const sources = [sourceOf("a", a.client), sourceOf("b", b.client)].slice(0, count);
  Deno.bench(`64 MiB leaf by leaf from ${count} source${count > 1 ? "s" : ""}`, async () => {
    const onProblem = (problem: unknown) => console.log(problem);
    await fetchBlob({ ref, sources, concurrency: 8, blobBytes: limits.blobBytes, timers: systemTimers, onProblem });
  });
}
