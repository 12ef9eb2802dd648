/** Blobs over HTTP where the network is bad and callers are strangers: retries, resuming, signatures, status codes. */

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { blobHash } from "../../../core/ids.ts";
import { MemoryBlobs } from "../../../net/blobs/blob_memory.ts";
import { hashOf } from "../../../net/blob_hash.ts";
import { type BlobStore, collect, UploadError } from "../../../net/blobs/blobs.ts";
import { emptyBodyHash } from "../../../net/auth/signed_headers.ts";
import { assertProblem } from "../../conformance/blobs_suite.ts";
import { varied } from "../../support/net/varied_bytes.ts";
import { BlobWorld, type BlobWorldOptions } from "../../support/net/blob_world.ts";
import { countingRandom } from "../../support/net/manual_timers.ts";
import { testSigner } from "../../support/net/test_keys.ts";

const capacity = { blobBytes: 1_000_000, capacityBytes: 4_000_000 };

function createWorld(options: Partial<BlobWorldOptions> = {}): BlobWorld {
  return new BlobWorld({ store: new MemoryBlobs(capacity), blobBytes: capacity.blobBytes, ...options });
}

type Fetch = (url: string, init: RequestInit) => Promise<Response>;

/** A client whose waits end at once, over a network that the test decides about. */
function impatient(world: BlobWorld, network: (pass: Fetch) => Fetch, blobBytes = capacity.blobBytes) {
  const waits: number[] = [];
  const timers = {
    nowMs: () => world.timers.nowMs(),
    steadyMs: () => world.timers.nowMs(),
    after: (delayMs: number, callback: () => void) => {
      if (delayMs === 30_000) return world.timers.after(delayMs, callback); // the limit on silence
      waits.push(delayMs);
      queueMicrotask(callback);
      return () => {};
    },
  };
  const pass: Fetch = async (url, init) => await world.app.request(url, init);
  const client = world.client({ fetch: network(pass), timers, blobBytes, random: countingRandom(5) });
  return { client, waits };
}

/** Ends the body after `bytes` as a dropped connection does. */
function cutAfter(response: Response, bytes: number): Response {
  let left = bytes;
  const cut = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      if (chunk.length >= left) {
        controller.enqueue(chunk.subarray(0, left));
        controller.error(new TypeError("connection reset"));
      } else controller.enqueue(chunk);
      left -= chunk.length;
    },
  });
  return new Response(response.body!.pipeThrough(cut), { status: response.status, headers: response.headers });
}

Deno.test("HTTP blobs: what crosses the socket is told with its node and direction, a refused request is not", async () => {
  const world = createWorld();
  const client = world.client();
  const ref = await client.put(varied(5_000, 9));
  await collect(await client.open(ref.hash), ref.bytes);
  const request = (authorize: ReturnType<BlobWorld["authorize"]>) => {
    const target = `/blobs/${ref.hash}`;
    return world.app.request(target, { headers: authorize({ method: "GET", target, bodyHash: emptyBodyHash }) });
  };
  await request(world.authorize({ signer: testSigner(77) })); // a stranger
  const node = world.node.address;
  const told = { node, hash: ref.hash, bytes: 5_000, blobBytes: 5_000 };
  assertEquals(world.moves, [{ ...told, way: "received" }, { ...told, way: "sent" }]);
});

/** A signed request, without a client that tries again. */
function ask(
  world: BlobWorld,
  target: string,
  init: RequestInit & { method: string; duplex?: "half" },
): Promise<Response> {
  const hash = target.split("/")[2]!;
  const bodyHash = init.method === "PUT" || init.method === "PATCH" ? blobHash(hash) : emptyBodyHash;
  const signed = world.authorize()({ method: init.method, target, bodyHash });
  const headers = { ...init.headers as Record<string, string>, ...signed };
  return Promise.resolve(world.app.request(target, { ...init, headers }));
}

Deno.test("HTTP blobs: of an upload that fails, what arrived is told once, and the size that it announced", async () => {
  const world = createWorld();
  const bytes = varied(5_000, 9);
  const told = { node: world.node.address, hash: hashOf(bytes), way: "received" as const };
  const target = `/blobs/${hashOf(bytes)}`;
  const put = async (body: BodyInit, announced = 5_000) => {
    world.forget();
    const headers = { "content-length": `${announced}` };
    const { status } = await ask(world, target, { method: "PUT", body, headers, duplex: "half" });
    return [status, world.moves];
  };
  const broken = cutAfter(new Response(bytes.slice()), 2_000).body!;
  assertEquals(await put(broken), [408, [{ ...told, bytes: 2_000, blobBytes: 5_000 }]]);
  assertEquals(await put(varied(5_000, 8)), [422, [{ ...told, bytes: 5_000, blobBytes: 5_000 }]]);
  assertEquals(await put(bytes, 1_000_001), [413, []], "refused unread");
  assertEquals(await put(new Uint8Array(1_000_001), 9), [413, [{ ...told, bytes: 1_000_001, blobBytes: 9 }]]);
  assertEquals(await put(bytes), [201, [{ ...told, bytes: 5_000, blobBytes: 5_000 }]]);
  assertEquals(await put(bytes), [200, []], "known, so not read");
  assertEquals([world.errors, world.slots.usage()], [[], 0]);
});

Deno.test("HTTP blobs: of a download, what was taken is told at its end or when it is cancelled, of HEAD nothing", async () => {
  const world = createWorld();
  const { hash, bytes } = await world.client().put(varied(900_000, 1));
  const told = { node: world.node.address, hash, way: "sent" as const, blobBytes: bytes };
  const get = async (target = `/blobs/${hash}`, range = "bytes=0-") => {
    world.forget();
    return (await ask(world, target, { method: "GET", headers: { range } })).body!;
  };
  const reader = (await get()).getReader();
  let taken = 0;
  while (taken < 300_000) taken += (await reader.read()).value!.length;
  assertEquals(world.moves, []);
  await reader.cancel();
  assert(taken < bytes);
  assertEquals(world.moves, [{ ...told, bytes: taken }]);
  await (await get()).cancel();
  assertEquals(world.moves, [], "nothing was taken");
  await collect(await get(undefined, "bytes=5-1004"), 1_000);
  assertEquals(world.moves, [{ ...told, bytes: 1_000 }]);
  await collect(await get(`/blobs/${hash}/leaves`), 32);
  assertEquals(world.moves, [{ ...told, bytes: 32 }]);
  world.forget();
  for (const target of [`/blobs/${hash}`, `/blobs/${hash}/leaves`]) await ask(world, target, { method: "HEAD" });
  assertEquals(world.moves, []);
});

Deno.test("HTTP blobs: a download resumes where the connection dropped", async () => {
  const world = createWorld();
  const bytes = varied(900_000, 1);
  const { hash } = await world.client().put(bytes);
  const asked: (string | null)[] = [];
  const { client } = impatient(world, (pass) => async (url, init) => {
    asked.push(new Headers(init.headers).get("range"));
    const response = await pass(url, init);
    return asked.length <= 3 ? cutAfter(response, 200_000) : response;
  });
  assertEquals(await client.get(hash), bytes);
  assertEquals(asked, [null, "bytes=200000-899999", "bytes=400000-899999", "bytes=600000-899999"]);
});

Deno.test("HTTP blobs: an upload is tried again after the connection dropped, waiting longer each time", async () => {
  const world = createWorld();
  let failures = 4;
  const { client, waits } = impatient(world, (pass) => async (url, init) => {
    if (failures-- > 0) throw new TypeError("connection refused");
    return await pass(url, init);
  });
  assertEquals((await client.put(varied(1_000, 1))).bytes, 1_000);
  assertEquals(waits.length, 4);
  waits.forEach((waitMs, failure) => {
    assert(waitMs >= 125 * 2 ** failure && waitMs <= 250 * 2 ** failure, `wait ${failure}: ${waitMs}`);
  });
});

Deno.test("HTTP blobs: after six attempts the error names the address and the next step", async () => {
  const world = createWorld();
  let attempts = 0;
  const { client } = impatient(world, () => () => {
    attempts++;
    return Promise.reject(new TypeError("connection refused"));
  });
  const message = await assertProblem(() => client.get(hashOf(varied(1, 1))), "unreachable");
  assertEquals(attempts, 6);
  assertStringIncludes(message, "Cannot reach http://hub after 6 attempts: connection refused; check");
});

Deno.test("HTTP blobs: a server that goes silent counts as a dropped connection", async () => {
  const world = createWorld();
  const bytes = varied(10_000, 1);
  const { hash } = await world.client().put(bytes);
  const asked = Promise.withResolvers<void>();
  let silent = true;
  const { client } = impatient(world, (pass) => (url, init) => {
    if (!silent) return pass(url, init);
    silent = false;
    asked.resolve();
    return new Promise<Response>(() => {});
  });
  const download = client.get(hash);
  await asked.promise;
  world.timers.advance(30_000);
  assertEquals(await download, bytes);
});

Deno.test("HTTP blobs: an orchestrator that hands out other bytes is caught", async () => {
  const world = createWorld();
  const { hash } = await world.client().put(varied(10_000, 1));
  const swap = (body: Uint8Array) => async (pass: Fetch, url: string, init: RequestInit) => {
    const { headers, status } = await pass(url, init);
    return new Response(body as Uint8Array<ArrayBuffer>, { headers, status });
  };
  for (const body of [varied(10_000, 2), varied(10_001, 1)]) {
    const { client } = impatient(world, (pass) => (url, init) => swap(body)(pass, url, init));
    await assertProblem(() => client.get(hash), "wrongHash");
  }
});

Deno.test("HTTP blobs: a leaf list that does not give the name is not believed, whatever size it claims", async () => {
  const world = createWorld();
  const bytes = varied(10_000, 1);
  const { hash } = await world.client().put(bytes);
  const list = Uint8Array.fromHex(hash);
  const answers: [Uint8Array, string | null][] = [
    [list.toReversed(), "10000"],
    [list, "2000000"], // above the limit
    [list, "-1"],
    [list, null],
    [new Uint8Array(0), "10000"],
    [new Uint8Array(50_000_000), "10000"],
  ];
  for (const [body, size] of answers) {
    const { client } = impatient(world, () => () => {
      const headers = new Headers({ "content-length": String(body.length) });
      if (size !== null) headers.set("iota-blob-bytes", size);
      return Promise.resolve(new Response(body as Uint8Array<ArrayBuffer>, { headers }));
    });
    await assertProblem(() => client.leaves(hash), "wrongHash");
  }
});

Deno.test("HTTP blobs: a range is asked for at once, without asking for the size before", async () => {
  const world = createWorld();
  const bytes = varied(900_000, 1);
  const { hash } = await world.client().put(bytes);
  const asked: string[] = [];
  const { client } = impatient(world, (pass) => async (url, init) => {
    asked.push(`${init.method} ${new Headers(init.headers).get("range")}`);
    const response = await pass(url, init);
    return asked.length === 1 ? cutAfter(response, 1_000) : response;
  });
  assertEquals(await collect(await client.open(hash, { start: 5, end: 5_005 }), 5_000), bytes.subarray(5, 5_005));
  assertEquals(asked, ["GET bytes=5-5004", "GET bytes=1005-5004"]);
});

Deno.test("HTTP blobs: a download above the node's own limit is not begun", async () => {
  const world = createWorld();
  const { hash } = await world.client().put(varied(10_000, 1));
  const { client } = impatient(world, (pass) => pass, 9_999);
  await assertProblem(() => client.get(hash), "tooLarge");
});

Deno.test("HTTP blobs: strangers, other receivers, other keys, wrong clocks and replays are refused", async () => {
  const world = createWorld();
  const bytes = varied(10, 1);
  const stranger = testSigner(7);
  const refusals: [string, Parameters<BlobWorld["authorize"]>[0]][] = [
    ["has not joined", { signer: stranger }],
    ["its receiver is", { receiver: stranger.address }],
    ["signature is not", { signer: { address: world.node.address, sign: stranger.sign } }],
  ];
  for (const [detail, options] of refusals) {
    const client = world.client({ authorize: world.authorize(options) });
    assertStringIncludes(await assertProblem(() => client.put(bytes), "refused"), detail);
  }
  const path = `/blobs/${hashOf(bytes)}`;
  const headers = world.authorize()({ method: "PUT", target: path, bodyHash: hashOf(bytes) });
  const request = (method: string, given: Record<string, string>) =>
    world.app.request(path, { method, headers: given, ...method === "PUT" ? { body: bytes } : {} });
  assertEquals((await request("GET", headers)).status, 401); // signed for another method
  assertEquals((await request("PUT", headers)).status, 201);
  const replay = await request("PUT", headers);
  assertEquals(replay.status, 401);
  assertStringIncludes((await replay.json()).detail, "nonce was already used");
  const early = world.authorize()({ method: "GET", target: path, bodyHash: emptyBodyHash });
  world.timers.advance(121_000);
  const late = await request("GET", early);
  assertEquals(late.status, 401);
  assertStringIncludes((await late.json()).detail, "at most 120000 ms in the past: current value is 12");
  assertEquals((await request("GET", {})).status, 401);
});

Deno.test("HTTP blobs: one node's nonces are bounded and do not touch another's", async () => {
  const world = createWorld({ nonces: 3 });
  const other = testSigner(2);
  world.admitted.add(other.address);
  const client = impatient(world, (pass) => pass).client;
  const hash = hashOf(varied(1, 1));
  for (let request = 0; request < 3; request++) assertEquals(await client.find(hash), null);
  assertStringIncludes(await assertProblem(() => client.get(hash), "unreachable"), "slow down");
  assertEquals(await world.client({ authorize: world.authorize({ signer: other }) }).find(hash), null);
  world.timers.advance(240_001);
  assertEquals(await client.find(hash), null);
});

Deno.test("HTTP blobs: status codes of the routes", async () => {
  const world = createWorld();
  const bytes = varied(1_000, 1);
  const hash = hashOf(bytes);
  const path = `/blobs/${hash}`;
  const request = (method: string, init: RequestInit = {}) => {
    const signed = world.authorize()({ method, target: path, bodyHash: method === "PUT" ? hash : emptyBodyHash });
    return world.app.request(path, {
      ...init,
      method,
      headers: { ...init.headers as Record<string, string>, ...signed },
    });
  };
  assertEquals((await request("GET")).status, 404);
  assertEquals((await request("PUT", { body: varied(1_000, 2) })).status, 422);
  assertEquals((await request("PUT", { body: "x", headers: { "content-length": "1000001" } })).status, 413);
  assertEquals((await request("PUT", { body: bytes })).status, 201);
  assertEquals((await request("PUT", { body: bytes })).status, 200);
  const part = await request("GET", { headers: { range: "bytes=990-" } });
  assertEquals([part.status, part.headers.get("content-range")], [206, "bytes 990-999/1000"]);
  assertEquals(new Uint8Array(await part.arrayBuffer()), bytes.subarray(990));
  const outside = await request("GET", { headers: { range: "bytes=1000-" } });
  assertEquals([outside.status, outside.headers.get("content-range")], [416, "bytes */1000"]);
  assertEquals((await request("GET", { headers: { range: "lines=1-2" } })).status, 200);
  const head = await request("HEAD");
  assertEquals([head.status, head.headers.get("content-length"), await head.text()], [200, "1000", ""]);
});

Deno.test("API: health, status, unknown paths, and failures that give nothing away", async () => {
  const world = createWorld();
  assertEquals(await (await world.app.request("/healthz")).text(), "ok");
  assertEquals(await (await world.app.request("/status")).json(), { run: "test" });
  const unknown = await world.app.request("/nothing");
  assertEquals([unknown.status, (await unknown.json()).detail], [404, "There is no page /nothing; try /status"]);
  const broken = { find: () => Promise.reject(new Error("secret path")) } as unknown as BlobStore;
  const failing = createWorld({ store: broken });
  const path = `/blobs/${"0".repeat(64)}`;
  const response = await failing.app.request(path, {
    headers: failing.authorize()({ method: "GET", target: path, bodyHash: emptyBodyHash }),
  });
  assertEquals(response.status, 500);
  assert(!(await response.text()).includes("secret"));
  assertEquals(failing.errors.map(({ message }) => message), ["secret path"]);
});

Deno.test("HTTP blobs: an upload that is refused says the answer's status, its own size and how far apart the clocks are", async () => {
  const world = createWorld();
  const proxy = (status: number, headers = {}) =>
    impatient(world, () => () => Promise.resolve(new Response("<html>", { status, headers }))).client;
  const failed = async (client: BlobStore) => {
    const error = await client.put(varied(5_000, 9)).then(() => null, (reason) => reason);
    assert(error instanceof UploadError, String(error));
    return error.upload;
  };
  assertEquals(await failed(proxy(413)), { status: 413, bytes: 5_000, clockMs: 0 });
  assertEquals(await failed(proxy(502)), { status: 502, bytes: 5_000, clockMs: 0 });
  const date = new Date(world.timers.nowMs() + 3_600_000).toUTCString();
  const { status, clockMs } = await failed(proxy(401, { date }));
  assertEquals([status, Math.round(clockMs / 60_000)], [401, 60]);
  const { client } = impatient(world, () => () => Promise.reject(new TypeError("connection refused")));
  assertEquals(await failed(client), { status: null, bytes: 5_000, clockMs: 0 });
});
