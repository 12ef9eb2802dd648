/** Lines of nodes: their words, when bytes arrive, a proxy that loses, reorders and keeps nothing, and a lab's line. */

import { assert, assertAlmostEquals, assertEquals, assertStringIncludes } from "@std/assert";
import {
  brokenLinksRule,
  Direction,
  linksText,
  mostInFlight,
  parseLinks,
} from "../../../cli/swarm/chaos/link_shape.ts";
import { Clock } from "../../lab/world/clock.ts";
import { WorldLink } from "../../lab/world/world_link.ts";
import { blobAccess } from "../../../cli/roles/blob_access.ts";
import { ShapedLink } from "../../../cli/swarm/shaped_link.ts";
import { MemoryBlobs } from "../../../net/blobs/blob_memory.ts";
import { systemRandom, systemTimers } from "../../../net/timers.ts";
import { ManualTimers } from "../../support/net/manual_timers.ts";
import { prngOf } from "../../support/small_prng.ts";

const infinite = { jitterMs: 0, resetMs: Infinity };

Deno.test("Link shape: words are a delay, a rate, jitter and resets, in this order", () => {
  assertEquals(parseLinks("40ms 20mbit"), { ...infinite, delayMs: 40, bytesPerMs: 2_500 });
  assertEquals(parseLinks(" 150MS 5mbit jitter 20ms reset 5min "), {
    ...{ delayMs: 150, bytesPerMs: 625, jitterMs: 20, resetMs: 300_000 },
  });
  assertEquals(parseLinks("0.5ms 1gbit reset 30s"), {
    delayMs: 0.5,
    bytesPerMs: 125_000,
    jitterMs: 0,
    resetMs: 30_000,
  });
  assertEquals(parseLinks("7ms"), { ...infinite, delayMs: 7, bytesPerMs: Infinity });
  for (
    const wrong of [
      "",
      "40",
      "20mbit",
      "20mbit 40ms",
      "40ms 0mbit",
      "40ms 20mbit reset 0s",
      "-1ms",
      "1e3ms",
      "40ms fast",
    ]
  ) {
    assertEquals(parseLinks(wrong), null, wrong);
  }
});

Deno.test("Link shape: words that are none are told which rule they break", () => {
  for (
    const [words, rule] of [
      ["0ms 0mbit", "rate must be above 0"],
      ["1ms reset 0min", "reset, must be above 0"],
      ["99999999ms", "at most 6 digits and 3 decimals, but one is 99999999"],
      ["1ms 0.0001mbit", "at most 6 digits and 3 decimals, but one is 0.0001"],
      ["reset 0min", '"DELAYms [RATE(kbit|mbit|gbit)] [jitter MSms] [reset LIFE(s|min)]"'],
    ] as const
  ) {
    assertStringIncludes(brokenLinksRule(words) ?? "", rule);
  }
  for (const words of ["1ms 3kbit", "1ms 2gbit", "1ms reset 5s"]) assertEquals(brokenLinksRule(words), null);
});

Deno.test("Link shape: its text has the unit that a person would write", () => {
  for (const words of ["40ms 20mbit", "1ms 1gbit", "1ms 500mbit", "1ms 100kbit", "1ms 1.5mbit", "1ms reset 5min"]) {
    assertEquals(linksText(parseLinks(words)!), words);
  }
  assertEquals(linksText(parseLinks("1ms 2000kbit reset 90s")!), "1ms 2mbit reset 90s");
});

Deno.test("Link shape: its text is read as the same shape", () => {
  const draw = prngOf(3);
  const number = () => `${1 + draw(10 ** (1 + draw(6)) - 1)}${["", ".5", `.${100 + draw(900)}`][draw(3)]}`;
  const drawn = Array.from(
    { length: 2000 },
    () =>
      `${number()}ms ${number()}${"kmg"[draw(3)]}bit jitter ${number()}ms reset ${number()}${["s", "min"][draw(2)]}`,
  );
  for (const words of ["7ms", "40ms 20mbit", "40ms 1gbit", "1ms 1.009mbit reset 17000min", "0.5ms 3kbit", ...drawn]) {
    const shape = parseLinks(words);
    assert(shape !== null, words);
    assertEquals(parseLinks(linksText(shape)), shape, words);
  }
});

Deno.test("Link shape: what is sent waits for what was sent before, then takes the delay, and arrives in order", () => {
  const line = new Direction({ ...infinite, delayMs: 40, bytesPerMs: 100 });
  assertEquals(line.send(1_000, { nowMs: 0, unit: 0.9 }), 50); // 10 ms on the line
  assertEquals(line.send(1_000, { nowMs: 0, unit: 0 }), 60);
  assertEquals(line.send(100, { nowMs: 500, unit: 0 }), 541);
  const shaky = new Direction({ delayMs: 40, bytesPerMs: Infinity, jitterMs: 20, resetMs: Infinity });
  assertEquals(
    [shaky.send(9, { nowMs: 0, unit: 0.5 }), shaky.send(9, { nowMs: 1, unit: 0 })],
    [50, 50],
    "never overtaken",
  );
  assertAlmostEquals(mostInFlight({ ...infinite, delayMs: 1_000, bytesPerMs: 2_500 }), 5e6);
});

/** Sends back what it gets until the other side is done, then ends. */
function echo(): { port: number; close: () => void } {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const serve = async (connection: Deno.TcpConn) => {
    try {
      const buffer = new Uint8Array(30_000);
      for (let count = await connection.read(buffer); count !== null; count = await connection.read(buffer)) {
        await writeAll(connection, buffer.subarray(0, count));
      }
    } catch (error) {
      if (!(error instanceof Deno.errors.ConnectionReset)) throw error; // a test cuts the line
    }
    connection.close();
  };
  const accept = async () => {
    for await (const connection of listener) void serve(connection);
  };
  void accept();
  return { port: listener.addr.port, close: () => listener.close() };
}

async function writeAll(connection: Deno.TcpConn, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.length;) at += await connection.write(bytes.subarray(at));
}

async function roundTrip(port: number, bytes: Uint8Array): Promise<Uint8Array> {
  const connection = await Deno.connect({ port });
  const writing = writeAll(connection, bytes).then(() => connection.closeWrite());
  const back: number[] = [];
  const buffer = new Uint8Array(50_000);
  for (let count = await connection.read(buffer); count !== null; count = await connection.read(buffer)) {
    for (let i = 0; i < count; i++) back.push(buffer[i]!);
  }
  await writing;
  connection.close();
  return Uint8Array.from(back);
}

Deno.test("Shaped link: a megabyte there and back over several connections at once is whole, and an end is passed on", async () => {
  const server = echo();
  const shape = { delayMs: 1, bytesPerMs: 50_000, jitterMs: 2, resetMs: Infinity };
  const link = new ShapedLink({
    ...{ target: { hostname: "127.0.0.1", port: server.port }, shape, timers: systemTimers, random: systemRandom },
  });
  const sent = [1, 2, 3].map((seed) => Uint8Array.from({ length: 400_000 + seed }, (_, i) => (i * seed) >>> 3));
  const back = await Promise.all(sent.map((bytes) => roundTrip(link.port, bytes)));
  back.forEach((bytes, i) =>
    assert(bytes.length === sent[i]!.length && bytes.every((byte, j) => byte === sent[i]![j]))
  );
  link.close();
  server.close();
});

Deno.test("Shaped link: a connection takes a round trip, and its end comes as late as bytes do", async () => {
  const delayMs = 30;
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const shape = { ...infinite, delayMs, bytesPerMs: Infinity };
  const link = new ShapedLink({
    ...{
      target: { hostname: "127.0.0.1", port: listener.addr.port },
      shape,
      timers: systemTimers,
      random: systemRandom,
    },
  });
  const dialledMs = systemTimers.steadyMs();
  const near = await Deno.connect({ port: link.port });
  const far = await listener.accept();
  const acceptedMs = systemTimers.steadyMs();
  assert(acceptedMs - dialledMs >= 2 * delayMs - 1, `accepted after ${acceptedMs - dialledMs} ms`);
  const endedMs = systemTimers.steadyMs();
  near.close();
  assertEquals(await far.read(new Uint8Array(1)), null);
  const noticedMs = systemTimers.steadyMs() - endedMs;
  assert(noticedMs >= delayMs - 1, `noticed after ${noticedMs} ms`);
  for (const end of [far, listener, link]) end.close();
});

Deno.test("Shaped link: where nobody listens behind it, or after a reset, the node's connection ends", async () => {
  const server = echo();
  const target = { hostname: "127.0.0.1", port: server.port };
  const options = { timers: systemTimers, random: systemRandom };
  const cut = new ShapedLink({
    ...options,
    target,
    shape: { delayMs: 0, bytesPerMs: Infinity, jitterMs: 0, resetMs: 1 },
  });
  const broken = await Deno.connect({ port: cut.port });
  const end = await broken.read(new Uint8Array(1)).catch((error) => error instanceof Deno.errors.ConnectionReset);
  assert(end === null || end === true, `${end}`);
  broken.close();
  cut.close();
  server.close();
  const shape = { ...infinite, delayMs: 0, bytesPerMs: Infinity };
  const dead = new ShapedLink({ ...options, target, shape });
  const refused = await Deno.connect({ port: dead.port });
  assertEquals(await refused.read(new Uint8Array(1)).catch(() => null), null);
  refused.close();
  dead.close();
});

Deno.test("Shaped link: a connection is reset after half to one and a half times resetMs, as drawn, and not before", async () => {
  const server = echo();
  const timers = new ManualTimers();
  const waits: number[] = [];
  const after = (ms: number, callback: () => void) => {
    waits.push(ms);
    return timers.after(ms, callback);
  };
  const link = new ShapedLink({
    target: { hostname: "127.0.0.1", port: server.port },
    shape: { delayMs: 0, bytesPerMs: Infinity, jitterMs: 0, resetMs: 60_000 },
    timers: { nowMs: () => timers.nowMs(), steadyMs: () => timers.steadyMs(), after },
    random: { ...systemRandom, unit: () => 0.25 },
  });
  const near = await Deno.connect({ port: link.port });
  const answered = async () => {
    await writeAll(near, Uint8Array.of(7));
    return await near.read(new Uint8Array(1)).catch(() => null);
  };
  assertEquals(await answered(), 1);
  assertEquals(waits, [45_000]);
  timers.advance(44_999);
  assertEquals(await answered(), 1);
  timers.advance(1);
  assertEquals(await near.read(new Uint8Array(1)).catch(() => null), null);
  for (const end of [near, link, server]) end.close();
});

Deno.test("Lab link: a frame waits for one piece of a blob, not for all of it", async () => {
  const clock = new Clock();
  const link = new WorldLink({ ...infinite, delayMs: 10, bytesPerMs: 100 }, clock); // 10.5 s for the blob
  const arrivals: Record<string, number> = {};
  const arrived = (what: string) => arrivals[what] = clock.nowMs;
  const wire = link.dial(() => ({
    ...{ bufferedBytes: 0, close: () => {}, pause: () => {}, resume: () => {} },
    send: () => arrived("frame"),
  }))("ws://hub", { opened: () => {}, frame: () => {}, closed: () => {} });
  const stored = new MemoryBlobs({ blobBytes: 2 ** 20, capacityBytes: 2 ** 20 });
  void link.blobs(blobAccess(stored)).put(new Uint8Array(2 ** 20)).then(() => arrived("blob"));
  clock.timers.after(1_000, () => wire.send(new Uint8Array(100)));
  await clock.runUntil(() => "blob" in arrivals, 60_000);
  assert(arrivals.frame! < 1_000 + 2 ** 16 / 100 + 20, `the frame came at ${arrivals.frame} ms`);
  assertAlmostEquals(arrivals.blob!, 2 ** 20 / 100 + 1 + 10, 20); // each of 16 pieces ends at a whole ms
});
