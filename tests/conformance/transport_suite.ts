/** What every transport promises; run by transport_loopback_test.ts and transport_websocket_test.ts. */

import { assert, assertEquals, assertMatch, assertNotEquals, assertStringIncludes } from "@std/assert";
import { fault, type Parsed } from "../../core/fault.ts";
import { decodeFrame, encodeFrame } from "../../net/frame.ts";
import { answerChallenge, type Hello, readRefusal } from "../../net/hello.ts";
import { countingRandom } from "../support/manual_timers.ts";
import { testSigner } from "../support/test_keys.ts";
import {
  dialRaw,
  hubSeed,
  type Member,
  notes,
  type OpenMedium,
  patterned,
  type RawLink,
  TransportWorld,
  type WorldOptions,
} from "./transport_world.ts";

export function transportSuite(name: string, open: OpenMedium): void {
  function check(behaviour: string, body: (world: TransportWorld) => Promise<void>, options: WorldOptions = {}): void {
    Deno.test(`Transport over ${name}: ${behaviour}`, async () => {
      const world = new TransportWorld(open, options);
      await world.start();
      try {
        await body(world);
      } finally {
        await world.stop();
      }
    });
  }
  deliveryCases(check);
  breakCases(check);
  sessionCases(check);
  helloCases(check);
  boundCases(check);
}

type Check = (behaviour: string, body: (world: TransportWorld) => Promise<void>, options?: WorldOptions) => void;

function must<T>(result: Parsed<T>): T {
  assert(result.ok, result.ok ? "" : result.fault.detail);
  return result.value;
}

async function received(log: { next(type: "message"): Promise<{ message: { note: number } }> }, count: number) {
  const numbers: number[] = [];
  while (numbers.length < count) numbers.push((await log.next("message")).message.note);
  return numbers;
}

function deliveryCases(check: Check): void {
  check("messages arrive in order, both ways", async (world) => {
    const { node, events, signer } = await world.joined(1);
    for (const note of notes(0, 200)) {
      must(node.send({ note }));
      must(world.hub.send(signer.address, { note: -note }));
    }
    assertEquals(await received(world.hubEvents, 200), notes(0, 200));
    assertEquals(await received(events, 200), notes(0, 200).map((note) => -note));
  });

  check("large segments arrive whole and aligned", async (world) => {
    const { node, events, signer } = await world.joined(1);
    const segments = [patterned(3_000_001, 1), new Uint8Array(0), patterned(5, 2)];
    must(node.send({ note: 1 }, segments));
    const up = await world.hubEvents.next("message");
    assertEquals(up.segments.map((segment) => segment.length), [3_000_001, 0, 5]);
    assert(up.segments.every((segment, index) => segment.every((byte, at) => byte === segments[index]![at])));
    assert(up.segments.every((segment) => segment.byteOffset % 8 === 0));
    assert(up.bytes > 3_000_000 && up.bytes < 3_000_200);
    must(world.hub.send(signer.address, { note: 2 }, up.segments));
    const down = await events.next("message");
    assert(down.segments[0]!.every((byte, at) => byte === segments[0]![at]));
  });

  check("miners and validators are told apart, and each gets its own messages", async (world) => {
    const miner = await world.joined(1, { role: "miner" });
    const validator = await world.joined(2, { role: "validator" });
    const roles = world.hubEvents.all.flatMap((event) => event.type === "peerConnected" ? [event.role] : []);
    assertEquals(roles, ["miner", "validator"]);
    must(world.hub.send(validator.signer.address, { note: 7 }));
    must(world.hub.send(miner.signer.address, { note: 8 }));
    assertEquals((await validator.events.next("message")).message, { note: 7 });
    assertEquals((await miner.events.next("message")).message, { note: 8 });
    must(validator.node.send({ note: 9 }));
    assertEquals((await world.hubEvents.next("message")).peer, validator.signer.address);
  });

  check("messages sent before the first connection wait for it", async (world) => {
    const { node } = world.join(1);
    must(node.send({ note: 1 }));
    assertEquals((await world.hubEvents.next("message")).message, { note: 1 });
  });

  check("a message that the schema refuses is a fault and the link goes on", async (world) => {
    const { node, signer } = await world.joined(1);
    must(node.send({ wrong: 1 } as unknown as { note: number }));
    must(node.send({ note: 2 }));
    const refusedMessage = await world.hubEvents.next("fault");
    assertEquals([refusedMessage.peer, refusedMessage.fault.code], [signer.address, "malformedMessage"]);
    assertEquals((await world.hubEvents.next("message")).message, { note: 2 });
  });
}

function breakCases(check: Check): void {
  check("every message arrives exactly once across cuts", async (world) => {
    const { node, events, link, signer } = await world.joined(1);
    const up: number[] = [];
    const down: number[] = [];
    for (let cut = 0; cut < 5; cut++) {
      link.swallowing = cut % 2 === 1; // what is in flight at every other cut is lost
      for (const note of notes(cut * 40, 40)) {
        must(node.send({ note }, [patterned(1000, note)]));
        must(world.hub.send(signer.address, { note }));
      }
      link.cut();
      await world.reconnect({ node, events, link, signer });
      assertEquals((await world.hubEvents.next("peerConnected")).resumed, true);
    }
    must(node.send({ note: 200 }));
    must(world.hub.send(signer.address, { note: 200 }));
    const last = (event: { type: string; message?: unknown }) =>
      event.type === "message" && (event.message as { note: number }).note === 200;
    while (!world.hubEvents.all.some(last)) await world.hubEvents.next("message");
    while (!events.all.some(last)) await events.next("message");
    for (const event of world.hubEvents.all) if (event.type === "message") up.push(event.message.note);
    for (const event of events.all) if (event.type === "message") down.push(event.message.note);
    assertEquals(up, notes(0, 201));
    assertEquals(down, notes(0, 201));
    assertEquals(events.count("sessionLost"), 0);
  });

  check("repeated frames are delivered once", async (world) => {
    const { node, events, link, signer } = await world.joined(1);
    link.duplicating = true;
    for (const note of notes(0, 50)) {
      must(node.send({ note }));
      must(world.hub.send(signer.address, { note }));
    }
    assertEquals(await received(world.hubEvents, 50), notes(0, 50));
    assertEquals(await received(events, 50), notes(0, 50));
    link.duplicating = false;
    must(node.send({ note: 50 }));
    assertEquals(await received(world.hubEvents, 1), [50]);
  });

  check("delayed frames arrive in order once they are let through", async (world) => {
    const { node, link } = await world.joined(1);
    link.hold();
    for (const note of notes(0, 10)) must(node.send({ note }));
    assertEquals(world.hubEvents.count("message"), 0);
    link.release();
    must(node.send({ note: 10 }));
    assertEquals(await received(world.hubEvents, 11), notes(0, 11));
  });

  check("the back-off grows, with jitter, and a hub that comes back is found", async (world) => {
    const { events, link } = await world.joined(1);
    link.unreachable = true;
    link.cut();
    const waits: number[] = [];
    for (let attempt = 1; attempt <= 12; attempt++) {
      const event = await events.next("disconnected");
      assertEquals(event.attempt, attempt);
      waits.push(event.retryMs);
      if (attempt === 12) link.unreachable = false;
      world.timers.advance(event.retryMs);
    }
    assertEquals((await events.next("connected")).resumed, false); // the session was given up meanwhile
    assert(waits[0]! >= 250 && waits[0]! <= 500 && waits[11]! >= 15_000 && waits[11]! <= 30_000, waits.join(" "));
    assertNotEquals(waits[10], waits[11]);
  });

  check("a silent link is dropped after some heartbeats and then resumed", async (world) => {
    const { node, events, link } = await world.joined(1);
    link.swallowing = true;
    must(node.send({ note: 1 }));
    world.timers.advance(world.limits.heartbeatMs * (world.limits.silentHeartbeats + 1));
    assertStringIncludes((await events.next("disconnected")).reason, "no heartbeat");
    assertStringIncludes((await world.hubEvents.next("peerDisconnected")).reason, "");
    link.swallowing = false;
    world.timers.advance(500);
    assertEquals((await events.next("connected")).resumed, true);
    assertEquals((await world.hubEvents.next("message")).message, { note: 1 });
  });
}

function sessionCases(check: Check): void {
  check("a hub that restarted makes the node start over", async (world) => {
    const { node, events, signer } = await world.joined(1);
    world.restartHub();
    const { retryMs } = await events.next("disconnected");
    world.timers.advance(retryMs);
    await events.next("sessionLost");
    assertEquals((await events.next("connected")).resumed, false);
    assertEquals((await world.hubEvents.next("peerConnected")).resumed, false);
    must(node.send({ note: 1 }));
    assertEquals((await world.hubEvents.next("message")).message, { note: 1 });
    must(world.hub.send(signer.address, { note: 2 }));
    assertEquals((await events.next("message")).message, { note: 2 });
  });

  check("a session without a link is kept for sessionKeepMs and then given up", async (world) => {
    const { events, link, signer } = await world.joined(1);
    link.unreachable = true;
    link.cut();
    await world.hubEvents.next("peerDisconnected");
    await events.next("disconnected");
    must(world.hub.send(signer.address, { note: 1 }));
    world.timers.advance(world.limits.heartbeatMs); // the node's first retry fails on the way
    assertEquals((await world.hubEvents.next("peerLost")).peer, signer.address);
    const late = world.hub.send(signer.address, { note: 2 });
    assertEquals(!late.ok && late.fault.code, "notAdmitted");
    link.unreachable = false;
    world.timers.advance((await events.next("disconnected")).retryMs);
    await events.next("sessionLost");
  }, { limits: { sessionKeepMs: 1000 } });

  check("a second process with the same hotkey takes over, the first is told why", async (world) => {
    const first = await world.joined(1);
    const second = world.join(1);
    await second.events.next("connected");
    assertStringIncludes((await first.events.next("refused")).fault.detail, "newer process");
    await world.hubEvents.next("peerLost");
    assertEquals((await world.hubEvents.next("peerConnected")).resumed, false);
    must(second.node.send({ note: 5 }));
    assertEquals((await world.hubEvents.next("message")).message, { note: 5 });
  });

  check("a closed peer learns the reason and does not come back", async (world) => {
    const { events, signer, node } = await world.joined(1);
    world.hub.close(signer.address, fault("notAdmitted", "Cannot stay as the run is over"));
    assertEquals((await events.next("refused")).fault.detail, "Cannot stay as the run is over");
    assertEquals(node.send({ note: 1 }).ok, false);
    assertEquals(world.hub.send(signer.address, { note: 1 }).ok, false);
    assertEquals(world.hubEvents.count("peerLost"), 0);
  });
}

async function refusalOf({ events }: Member): Promise<{ code: string; detail: string }> {
  return (await events.next("refused")).fault;
}

function helloCases(check: Check): void {
  check("a signature by another key is refused on both sides", async (world) => {
    const stranger = testSigner(9);
    const signer = { address: testSigner(1).address, sign: stranger.sign };
    const member = world.join(1, { node: { identity: { signer, role: "miner", run: "test", hub: null } } });
    assertEquals((await refusalOf(member)).code, "unauthenticated");
    const seen = await world.hubEvents.next("fault");
    assertEquals([seen.peer, seen.fault.code], [null, "unauthenticated"]);
    assertEquals(world.hubEvents.count("peerConnected"), 0);
  });

  check("a hub that cannot prove its address is refused by the node", async (world) => {
    assertMatch((await refusalOf(world.join(1))).detail, /did not prove that it is/);
  }, { hub: { signer: { address: testSigner(hubSeed).address, sign: testSigner(9).sign } } });

  check("another hub than the expected one is refused", async (world) => {
    const identity = { signer: testSigner(1), role: "miner" as const, run: "test", hub: testSigner(8).address };
    assertMatch((await refusalOf(world.join(1, { node: { identity } }))).detail, /orchestrator must be/);
  });

  check("a wrong run names both runs", async (world) => {
    const identity = { signer: testSigner(1), role: "miner" as const, run: "other", hub: null };
    const { detail } = await refusalOf(world.join(1, { node: { identity } }));
    assertMatch(detail, /must be 'other': this orchestrator serves 'test'/);
  });

  check("a node that the run does not admit is told so", async (world) => {
    const refusal = await refusalOf(world.join(1));
    assertEquals(refusal, { code: "notAdmitted", detail: "Cannot join as miner is not registered" });
  }, { hub: { admit: ({ role }) => fault("notAdmitted", `Cannot join as ${role} is not registered`) } });

  check("a recorded hello is refused on another connection", async (world) => {
    const first = dialRaw(world.medium);
    const hello = await answer(first);
    first.wire.send(encodeFrame({ header: hello }));
    assertEquals(headerOf((await first.events.next("frame")).bytes).type, "accept");
    await world.hubEvents.next("peerConnected");

    const second = dialRaw(world.medium);
    await second.events.next("frame");
    second.wire.send(encodeFrame({ header: hello }));
    const refusal = readRefusal(headerOf((await second.events.next("frame")).bytes));
    assertEquals(refusal?.code, "unauthenticated");
    assertStringIncludes(refusal?.detail ?? "", "another one");
    await second.events.next("closed");
    first.wire.close("test over");
  });

  check("another protocol version is refused with what to update", async (world) => {
    const raw = dialRaw(world.medium);
    const hello = await answer(raw);
    raw.wire.send(encodeFrame({ header: { ...hello, protocol: hello.protocol + 1 } }));
    const refusal = readRefusal(headerOf((await raw.events.next("frame")).bytes));
    assertEquals(refusal?.code, "versionMismatch");
    assertStringIncludes(refusal?.detail ?? "", "update the orchestrator");
    await raw.events.next("closed");
  });

  check("a connection that says nothing is closed after helloMs", async (world) => {
    const raw = dialRaw(world.medium);
    await raw.events.next("frame");
    world.timers.advance(world.limits.helloMs);
    assertStringIncludes((await raw.events.next("closed")).reason, "hello");
  });
}

async function answer(raw: RawLink): Promise<Hello> {
  const challenge = headerOf((await raw.events.next("frame")).bytes);
  const identity = { signer: testSigner(1), role: "miner" as const, run: "test", hub: null };
  return must(answerChallenge(challenge, { identity, resume: null, random: countingRandom() }));
}

function headerOf(bytes: Uint8Array): { type: string } {
  const limits = { frameBytes: 4096, headerBytes: 4096, headerDepth: 8, segments: 0 };
  return must(decodeFrame(bytes, limits)).header as { type: string };
}

function boundCases(check: Check): void {
  const small = {
    frameBytes: 64 * 1024,
    headerBytes: 1024,
    outboxBytes: 512 * 1024,
    windowBytes: 128 * 1024,
    ackEveryBytes: 32 * 1024,
  };

  check("a message larger than frameBytes is refused by its sender and harms nothing", async (world) => {
    const { node, signer, events } = await world.joined(1);
    const sent = node.send({ note: 1 }, [new Uint8Array(small.frameBytes)]);
    assertMatch(
      sent.ok ? "" : sent.fault.detail,
      /'frameBytes' must be at most 65536: current value is \d+; send it as a blob/,
    );
    assertEquals(world.hub.send(signer.address, { note: 1 }, [new Uint8Array(small.frameBytes)]).ok, false);
    must(node.send({ note: 2 }));
    assertEquals((await world.hubEvents.next("message")).message, { note: 2 });
    must(world.hub.send(signer.address, { note: 3 }));
    assertEquals((await events.next("message")).message, { note: 3 });
  }, { limits: small });

  check("a stranger's oversize frame ends its connection and nothing else", async (world) => {
    const { node } = await world.joined(1);
    const raw = dialRaw(world.medium);
    await raw.events.next("frame");
    raw.wire.send(new Uint8Array(small.frameBytes + 1));
    await raw.events.next("closed");
    must(node.send({ note: 1 }));
    assertEquals((await world.hubEvents.next("message")).message, { note: 1 });
  }, { limits: small });

  check("bytes that are no frame end the connection with a fault", async (world) => {
    const raw = dialRaw(world.medium);
    await raw.events.next("frame");
    raw.wire.send(patterned(500, 3));
    assertEquals((await world.hubEvents.next("fault")).fault.code, "malformedFrame");
    await raw.events.next("closed");
  });

  check("a reader that pauses loses nothing", async (world) => {
    const { node, events, signer } = await world.joined(1);
    node.pause();
    world.hub.pause();
    for (const note of notes(0, 10)) {
      must(world.hub.send(signer.address, { note }, [patterned(32 * 1024, note)]));
      must(node.send({ note }, [patterned(32 * 1024, note)]));
    }
    assertEquals([events.count("message"), world.hubEvents.count("message")], [0, 0]);
    node.resume();
    world.hub.resume();
    assertEquals(await received(events, 10), notes(0, 10));
    assertEquals(await received(world.hubEvents, 10), notes(0, 10));
  }, { limits: small });

  check("a node that does not read is closed when its outbox is full", async (world) => {
    const { node, events, signer } = await world.joined(1);
    node.pause();
    let refusedWith = "";
    for (let sent = 0; sent < 40 && refusedWith === ""; sent++) {
      const result = world.hub.send(signer.address, { note: sent }, [new Uint8Array(32 * 1024)]);
      assert(world.hub.outboxBytes(signer.address) <= small.outboxBytes);
      if (!result.ok) refusedWith = result.fault.detail;
    }
    assertStringIncludes(refusedWith, "'outboxBytes' must be at most 524288");
    assertEquals((await world.hubEvents.next("peerLost")).fault.code, "limitExceeded");
    node.resume();
    await events.next("disconnected");
  }, { limits: small });

  check("a hub that does not read makes the node give its session up, not its memory", async (world) => {
    const { node, events } = await world.joined(1);
    world.hub.pause();
    let overflowed = false;
    for (let sent = 0; sent < 40 && !overflowed; sent++) {
      overflowed = !node.send({ note: sent }, [new Uint8Array(32 * 1024)]).ok;
      assert(node.outboxBytes() <= small.outboxBytes);
    }
    assert(overflowed);
    assertEquals((await events.next("sessionLost")).fault.code, "limitExceeded");
    await events.next("disconnected");
  }, { limits: small });

  check("more peers than the table holds are told to try later", async (world) => {
    await world.joined(1);
    const second = world.join(2);
    assertStringIncludes((await second.events.next("disconnected")).reason, "try again later");
  }, { limits: { peers: 1 } });
}
