/** Hundreds and thousands of connections that prove nothing, against a real orchestrator on a real port. */

import { assert, assertEquals } from "@std/assert";
import { defaultNetLimits } from "../../net/limits.ts";
import { AttackedHub, joinedMs, newcomer } from "../support/attack/attacked_hub.ts";
import { messageHead, Stranger } from "../support/attack/stranger.ts";

const kibibyte = 1024;
const mebibyte = 1024 * kibibyte;
const strangers = 400;
const mostOfStranger = 64 * kibibyte; // measured: 1 KiB
const mostAtFirst = 256 * kibibyte; // measured: 100 KiB; without limits before the proof all that they send

/** Each sends a message's beginning and as much of it as it gets rid of. */
async function pushGreedily(port: number): Promise<Stranger[]> {
  const all: Stranger[] = [];
  for (let count = 0; count < strangers; count++) all.push(new Stranger({ port }));
  const part = new Uint8Array(64 * kibibyte);
  await Promise.all(all.map(async (stranger) => {
    if (!await stranger.upgrade()) return;
    await stranger.send(messageHead(200 * mebibyte));
    for (let sent = 0; sent < mebibyte && await stranger.send(part);) sent += part.length;
  }));
  return all;
}

/** Each sends all that a stranger may, in small pieces, and stays connected. */
async function pushWithinLimits(port: number): Promise<Stranger[]> {
  const all: Stranger[] = [];
  for (let count = 0; count < strangers; count++) all.push(new Stranger({ port }));
  await Promise.all(all.map(async (stranger) => {
    assert(await stranger.upgrade(), "there is room for them all");
    await stranger.send(messageHead(200 * mebibyte));
    for (let sent = 0; sent < 2 * defaultNetLimits.helloBytes; sent += 256) {
      assert(await stranger.send(new Uint8Array(256)));
    }
  }));
  return all;
}

async function leaveAll(all: readonly Stranger[]): Promise<void> {
  await Promise.all(all.map((stranger) => stranger.leave()));
}

Deno.test("Attack: 400 strangers cost kilobytes each, whatever they send, and nothing when they are gone", async () => {
  const hub = await AttackedHub.start();
  try {
    const fresh = await hub.residentBytes();
    // What the runtime compiles and allocates once is not theirs, but it is bounded, too.
    for (const push of [pushWithinLimits, pushGreedily]) await leaveAll(await push(hub.port));
    const first = newcomer(hub, 1);
    await first.events.next("connected");
    first.node.close("test over");
    const before = await hub.residentBytes();
    const firstTime = (before - fresh) / strangers;
    assert(firstTime <= mostAtFirst, `${Math.round(firstTime / kibibyte)} KiB for each stranger the first time`);
    for (const push of [pushWithinLimits, pushGreedily]) {
      const all = await push(hub.port);
      const each = (await hub.residentBytes() - before) / strangers;
      assert(each <= mostOfStranger, `${push.name}: ${Math.round(each / kibibyte)} KiB for each stranger`);
      if (Deno.env.has("VERBOSE")) console.log(`${push.name}: ${Math.round(each / kibibyte)} KiB each`);
      await leaveAll(all);
      const { node, events } = newcomer(hub, 1);
      await events.next("connected"); // after them, so the orchestrator has heard that they left
      node.close("test over");
      const after = await hub.residentBytes();
      assert(after <= 1.1 * before, `${push.name}: ${after} bytes when they are gone, ${before} before they came`);
    }
  } finally {
    await hub.stop();
  }
});

Deno.test("Attack: a newcomer is in within 5 s while 2,000 connections are half-open", async () => {
  const hub = await AttackedHub.start();
  const partial = [
    "",
    "GET /status HTT",
    "GET / HTTP/1.1\r\nHost: orchestrator\r\nUpgrade: websocket\r\nConnection: Upg",
  ];
  const all: Stranger[] = [];
  try {
    for (let count = 0; count < 2000; count += 100) {
      const some = Array.from({ length: 100 }, () => new Stranger({ port: hub.port }));
      all.push(...some);
      await Promise.all(some.map(async (stranger, index) => {
        assert(await stranger.opened, "the port takes it");
        await stranger.send(partial[index % partial.length]!);
      }));
    }
    const came = newcomer(hub, 1);
    const tookMs = await joinedMs(came, 5_000).finally(() => came.node.close("test over"));
    assert(all.some(({ isClosed }) => !isClosed), `they were still there after ${tookMs} ms`);
    await leaveAll(all);
    const second = newcomer(hub, 2);
    await joinedMs(second, 5_000).finally(() => second.node.close("test over"));
  } finally {
    await leaveAll(all);
    await hub.stop();
  }
});

Deno.test("Attack: a connection that never gets on with its request is closed after helloMs", async () => {
  const hub = await AttackedHub.start({ limits: { helloMs: 300 } });
  try {
    const silent = new Stranger(hub);
    const slow = new Stranger(hub);
    await slow.opened;
    await slow.send("GET /status HTTP/1.1\r\nHost: orchestrator\r\nX-Slow: ");
    const idle = new Stranger(hub);
    await idle.opened;
    await idle.send("GET /healthz HTTP/1.1\r\nHost: orchestrator\r\n\r\n");
    assert(await idle.hears("200 OK"));
    await Promise.all([silent.closed, slow.closed, idle.closed]);
  } finally {
    await hub.stop();
  }
});

Deno.test("Attack: abandoned requests end their connection, and a refused body is not kept", async () => {
  const hub = await AttackedHub.start();
  try {
    const pipelining = new Stranger(hub);
    await pipelining.opened;
    await pipelining.send("GET /status HTTP/1.1\r\nHost: orchestrator\r\n\r\n".repeat(1000));
    await pipelining.closed;

    const before = await hub.residentBytes();
    const uploading = new Stranger(hub);
    await uploading.opened;
    await uploading.send(
      `PUT /blobs/${"ab".repeat(32)} HTTP/1.1\r\nHost: orchestrator\r\nContent-Length: 1000000000\r\n\r\n`,
    );
    assert(await uploading.hears(" 401 "), "it is refused before it has sent a byte of the body");
    const part = new Uint8Array(mebibyte);
    let sent = 0;
    while (await uploading.send(part)) sent += part.length;
    const grownBytes = await hub.residentBytes() - before;
    assert(
      sent < 64 * mebibyte && grownBytes < 16 * mebibyte,
      `the orchestrator grew by ${grownBytes} bytes over ${sent}`,
    );

    const longHead = new Stranger(hub);
    await longHead.opened;
    await longHead.send(`GET /${"a".repeat(64 * kibibyte)} HTTP/1.1\r\nHost: orchestrator\r\n\r\n`);
    await longHead.closed;
    assertEquals(longHead.received.includes("200 OK"), false);
  } finally {
    await hub.stop();
  }
});
