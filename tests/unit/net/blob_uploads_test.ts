/**
 * Uploads in parts: arrived bytes stay when connection, orchestrator or client break, within bounds, and are not a blob before
 * the end.
 */

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { hashOf, refOf } from "../../../net/blob_hash.ts";
import type { ByteStream, UploadPart } from "../../../net/blobs/blobs.ts";
import { listen } from "../../../net/server.ts";
import { assertProblem, streamOf } from "../../conformance/blobs_suite.ts";
import { ManualTimers } from "../../support/net/manual_timers.ts";
import { withScratchFolder } from "../../support/scratch_folder.ts";
import { testSigner } from "../../support/net/test_keys.ts";
import { UploadWorld } from "../../support/net/upload_world.ts";
import { varied } from "../../support/net/varied_bytes.ts";

const bytes = varied(5_000_000, 1);
const ref = refOf(bytes);

function withWorld(
  body: (world: UploadWorld) => Promise<void>,
  limits: Parameters<typeof UploadWorld.open>[1] = {},
): Promise<void> {
  return withScratchFolder(async (folder) => {
    const world = await UploadWorld.open(folder, limits);
    await body(world);
    await world.stop();
    assertEquals(world.world.errors, []);
  });
}

async function partFiles({ folder }: UploadWorld): Promise<string[]> {
  return (await Array.fromAsync(Deno.readDir(`${folder}/uploads`))).map(({ name }) => name);
}

const one = testSigner(1).address;
const part = (content: Uint8Array, options: Partial<UploadPart> = {}): UploadPart => ({
  offset: 0,
  bytes: content.length,
  isLast: false,
  source: streamOf(content),
  ...options,
});

Deno.test("Uploads: a large blob goes in parts, a small one in one request, a known one not at all", () =>
  withWorld(async (world) => {
    assertEquals(await world.client().put(bytes), ref);
    assertEquals(world.requests, ["GET", "PATCH 0", "PATCH 2000000", "PATCH 4000000"]);
    assertEquals(await world.store.get(ref.hash), bytes);
    assertEquals(await partFiles(world), []);
    world.requests = [];
    await world.client().put(bytes);
    await world.client().put(bytes.subarray(0, 1000));
    assertEquals(world.requests, ["GET", "PUT"]);
  }));

Deno.test("Uploads: cut anywhere, they go on where they stopped, and nothing half is a blob", async () => {
  for (const cut of [0, 1, 65_537, 700_000, 1_999_999, 2_000_000]) {
    await withWorld(async (world) => {
      world.cuts = [null, cut, null, cut, cut];
      world.onWait = async () => assertEquals(await world.store.find(ref.hash), null);
      assertEquals(await world.client().put(bytes), ref);
      assertEquals(await world.store.get(ref.hash), bytes);
      const patches = world.requests.filter((request) => request.startsWith("PATCH"));
      assert(patches.includes(`PATCH ${2_000_000 + cut}`), patches.join());
      assertEquals(world.sentBytes, bytes.length, "what arrived is not sent again");
    });
  }
});

Deno.test("Uploads: what arrived of broken parts is told, each byte once, and the blob's size with the last part", () =>
  withWorld(async (world) => {
    world.cuts = [null, 700_000, 0, null, 100_000];
    await world.client().put(bytes);
    const parts = [2_000_000, 700_000, 2_000_000, 100_000].map((count) => ["received", count, null]);
    const told = world.world.moves.map(({ way, bytes, blobBytes }) => [way, bytes, blobBytes]);
    assertEquals(told, [...parts, ["received", 200_000, bytes.length]]);
  }));

Deno.test("Uploads: an orchestrator that restarts in the middle continues from its disk", () =>
  withWorld(async (world) => {
    world.cuts = [null, 900_000];
    world.onWait = async () => {
      await world.stop();
      await world.start();
    };
    assertEquals(await world.client().put(bytes), ref);
    assertEquals(await world.store.get(ref.hash), bytes);
    assertEquals(world.sentBytes, bytes.length);
    assertEquals(world.requests.slice(2), ["PATCH 2000000", "GET", "PATCH 2900000", "PATCH 4900000"]);
  }));

Deno.test("Uploads: a node that gave up or restarted resumes too", () =>
  withWorld(async (world) => {
    world.cuts = [null, 900_000];
    await assertProblem(() => world.client({ attempts: 1 }).put(bytes), "unreachable");
    assertEquals(await world.store.find(ref.hash), null);
    assertEquals(await world.client().put(bytes), ref);
    assertEquals(world.sentBytes, bytes.length);
  }));

Deno.test("Uploads: only part of a large stream is held, and it resumes after cuts", () =>
  withWorld(async (world) => {
    world.cuts = [1_500_000, null, 300_000];
    assertEquals(await world.client().put(streamOf(bytes), ref.hash), ref);
    assertEquals(await world.store.get(ref.hash), bytes);
    assertEquals(world.sentBytes, bytes.length);
    assertEquals(await world.client().put(streamOf(bytes), ref.hash), ref); // known: read to its end, not sent
    assertEquals(world.sentBytes, bytes.length);
  }));

Deno.test("Uploads: a stream whose beginning the orchestrator lost is an error with the next step", () =>
  withWorld(async (world) => {
    world.cuts = [null, 500];
    world.onWait = async () => {
      await world.stop();
      await Deno.remove(`${world.folder}/uploads`, { recursive: true });
      await world.start();
    };
    const client = world.client();
    const message = await assertProblem(() => client.put(streamOf(bytes), ref.hash), "unreachable");
    assertStringIncludes(message, "lost its beginning; send it again");
    assertEquals(await client.put(streamOf(bytes), ref.hash), ref);
  }));

Deno.test("Uploads: other bytes under the same name are found at the end, dropped, and the upload starts again", () =>
  withWorld(async (world) => {
    await world.uploads.append({ hash: ref.hash, node: one }, part(varied(3_000_000, 2)));
    assertEquals(await world.client().put(bytes), ref);
    assertEquals(world.requests.filter((request) => request === "GET").length, 2);
    assertEquals(await world.store.get(ref.hash), bytes);
    assertEquals(await partFiles(world), []);
  }));

Deno.test("Uploads: a wrong offset is answered with the right one, and nothing is taken", () =>
  withWorld(async (world) => {
    const key = { hash: ref.hash, node: one };
    await world.uploads.append(key, part(bytes.subarray(0, 1000)));
    for (const offset of [0, 999, 1001, 2 ** 40]) {
      const answer = await world.uploads.append(key, part(bytes.subarray(0, 10), { offset }));
      assertEquals(answer, { type: "wrongOffset", bytes: 1000 });
    }
    const path = `/blobs/${ref.hash}`;
    const headers = world.world.authorize()({ method: "PATCH", target: path, bodyHash: ref.hash });
    const response = await world.world.app.request(path, {
      method: "PATCH",
      headers: { ...headers, "upload-offset": "7" },
      body: bytes.subarray(0, 10),
    });
    assertEquals([response.status, response.headers.get("upload-offset")], [409, "1000"]);
    assertEquals(await response.json(), {
      code: "wrongOffset",
      detail: "'Upload-Offset' must be 1000, and is 7",
    });
  }));

Deno.test("Uploads: two nodes sending the same blob do not meet, and each has its own bytes", () =>
  withWorld(async (world) => {
    const other = testSigner(2).address;
    await world.uploads.append({ hash: ref.hash, node: other }, part(varied(100, 9)));
    assertEquals(await world.client().put(bytes), ref);
    assertEquals(await world.uploads.offset({ hash: ref.hash, node: other }), 100);
    assertEquals(await world.uploads.offset({ hash: ref.hash, node: one }), 0);
  }));

Deno.test("Uploads: the newest request wins over one whose connection is silent", () =>
  withWorld(async (world) => {
    const key = { hash: ref.hash, node: one };
    const reached = Promise.withResolvers<void>();
    let pulls = 0;
    const silent: ByteStream = new ReadableStream({
      pull(controller) {
        if (pulls++ === 0) return controller.enqueue(bytes.slice(0, 4000));
        reached.resolve();
        return new Promise(() => {}); // like a dead connection that was never closed
      },
    }, { highWaterMark: 0 });
    const first = world.uploads.append(key, part(bytes, { source: silent, isLast: true }));
    await reached.promise;
    assertEquals(await world.uploads.offset(key), 4000);
    assertEquals(await first, { type: "appended", bytes: 4000 }, "it does not count as the end of the blob");
    const rest = part(bytes.subarray(4000), { offset: 4000, isLast: true });
    const both = await Promise.all([world.uploads.append(key, rest), world.uploads.offset(key)]);
    assert(both[0].type === "stored" || both[0].type === "appended");
  }));

Deno.test("Uploads: an announced length that does not come is a broken part, not the end", () =>
  withWorld(async (world) => {
    const key = { hash: ref.hash, node: one };
    const short = part(bytes.subarray(0, 500), { bytes: 600, isLast: true });
    assertEquals(await world.uploads.append(key, short), { type: "appended", bytes: 500 });
    assertEquals(await world.uploads.offset(key), 500);
  }));

Deno.test("Uploads: one node's are bounded in number, the oldest makes room", () =>
  withWorld(async (world) => {
    const timers = world.world.timers;
    const contents = [1, 2, 3].map((seed) => varied(1000, seed));
    for (const content of contents) {
      await world.uploads.append({ hash: hashOf(content), node: one }, part(content));
      timers.advance(10);
    }
    const offsets = await Promise.all(contents.map((each) => world.uploads.offset({ hash: hashOf(each), node: one })));
    assertEquals(offsets, [0, 1000, 1000]);
    assertEquals(world.uploads.usage(), { uploads: 2, bytes: 2000 });
  }, { uploadsOfNode: 2 }));

Deno.test("Uploads: all together are bounded in number and bytes, and one blob in its own", () =>
  withWorld(async (world) => {
    const nodes = [1, 2, 3, 4].map((seed) => testSigner(seed).address);
    for (const node of nodes) {
      await world.uploads.append({ hash: ref.hash, node }, part(bytes.subarray(0, 400_000)));
      world.world.timers.advance(10);
    }
    assertEquals(world.uploads.usage(), { uploads: 2, bytes: 800_000 }, "bytes bind before the number does");
    const key = { hash: ref.hash, node: nodes[3]! };
    const more = part(bytes.subarray(400_000, 1_300_000), { offset: 400_000 });
    await assertProblem(() => world.uploads.append(key, more), "busy");
  }, { uploads: 3, uploadBytes: 1_000_000 }));

Deno.test("Uploads: a blob above blobBytes is refused when its first byte too many comes", () =>
  withWorld(async (world) => {
    const key = { hash: ref.hash, node: one };
    await world.uploads.append(key, part(bytes.subarray(0, 900_000)));
    const more = part(bytes.subarray(900_000, 1_000_001), { offset: 900_000 });
    await assertProblem(() => world.uploads.append(key, more), "tooLarge");
  }, { blobBytes: 1_000_000 }));

Deno.test("Uploads: an abandoned upload is dropped by age, also at the next start", () =>
  withWorld(async (world) => {
    const key = { hash: ref.hash, node: one };
    await world.uploads.append(key, part(bytes.subarray(0, 1000)));
    world.world.timers.advance(600_000);
    assertEquals(await world.uploads.offset(key), 0);
    await world.uploads.append(key, part(bytes.subarray(0, 1000)));
    await world.stop();
    const [name] = await partFiles(world);
    const startMs = new ManualTimers().nowMs();
    await Deno.utime(`${world.folder}/uploads/${name}`, startMs / 1000, (startMs - 599_000) / 1000);
    await world.start();
    assertEquals(await world.uploads.offset(key), 1000);
    await world.stop();
    await Deno.utime(`${world.folder}/uploads/${name}`, startMs / 1000, (startMs - 600_000) / 1000);
    await world.start();
    assertEquals(await world.uploads.offset(key), 0);
    assertEquals(await partFiles(world), []);
  }));

Deno.test("Uploads: strangers are refused, by routes as well", () =>
  withWorld(async (world) => {
    const authorize = world.world.authorize({ signer: testSigner(7) });
    assertStringIncludes(
      await assertProblem(() => world.client({ authorize }).put(bytes), "refused"),
      "has not joined",
    );
    assertEquals(await partFiles(world), []);
  }));

Deno.test("Uploads: over a real connection that is destroyed in the middle", () =>
  withWorld(async (world) => {
    const listener = await listen({
      ...{ host: "127.0.0.1", port: 0, limits: world.limits },
      accept: () => ({ frame: () => {}, closed: () => {} }),
      fetch: (request) => world.world.app.fetch(request),
    });
    const path = `/blobs/${ref.hash}`;
    const signed = world.world.authorize()({ method: "PATCH", target: path, bodyHash: ref.hash });
    const lines = Object.entries({ ...signed, host: "hub", "upload-offset": "0", "content-length": "5000000" });
    const head = `PATCH ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n`;
    const socket = await Deno.connect({ hostname: "127.0.0.1", port: listener.port });
    await socket.write(new TextEncoder().encode(head));
    for (let at = 0; at < 3_000_000;) at += await socket.write(bytes.subarray(at, Math.min(at + 65_536, 3_000_000)));
    socket.close();
    assertEquals(await world.world.client({ url: listener.url, uploadChunkBytes: 2_000_000 }).put(bytes), ref);
    assertEquals(await world.store.get(ref.hash), bytes);
    const told = world.world.moves.reduce((sum, move) => sum + move.bytes, 0);
    assertEquals(told, bytes.length, "what arrived before the end counts, and is not sent again");
    await listener.close();
  }));
