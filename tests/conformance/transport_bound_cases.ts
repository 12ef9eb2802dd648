/** The ends of sessions, and limits on size, speed and number. */

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { fault } from "../../core/fault.ts";
import { type Check, must, received } from "./transport_check.ts";
import { varied } from "../support/net/varied_bytes.ts";
import { dialRaw, notes } from "./transport_world.ts";

export function sessionCases(check: Check): void {
  check("an orchestrator that restarted makes the node start over", async (world) => {
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

  check("a closed peer learns the reason and does not come back", async (world) => {
    const { events, signer, node } = await world.joined(1);
    world.hub.close(signer.address, fault("notAdmitted", "Cannot stay as the run is over"));
    assertEquals((await events.next("refused")).fault.detail, "Cannot stay as the run is over");
    assertEquals(node.send({ note: 1 }).ok, false);
    assertEquals(world.hub.send(signer.address, { note: 1 }).ok, false);
    assertEquals(world.hubEvents.count("peerLost"), 0);
  });
}

const small = {
  frameBytes: 64 * 1024,
  headerBytes: 1024,
  outboxBytes: 512 * 1024,
  windowBytes: 128 * 1024,
  ackEveryBytes: 32 * 1024,
};

export function sizeCases(check: Check): void {
  check("a message larger than frameBytes is refused by its sender and harms nothing", async (world) => {
    const { node, signer, events } = await world.joined(1);
    const sent = node.send({ note: 1 }, [new Uint8Array(small.frameBytes)]);
    assertMatch(
      sent.ok ? "" : sent.fault.detail,
      /'frameBytes' must be at most 65536, and is \d+; send it as a blob/,
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

  check("bytes that are not a frame end the connection with a fault", async (world) => {
    const raw = dialRaw(world.medium);
    await raw.events.next("frame");
    raw.wire.send(varied(500, 3));
    assertEquals((await world.hubEvents.next("refusals")).counts, { total: 1, byCode: { malformedFrame: 1 } });
    await raw.events.next("closed");
  });
}

export function slowReaderCases(check: Check): void {
  check("a reader that pauses loses nothing", async (world) => {
    const { node, events, signer } = await world.joined(1);
    node.pause();
    world.hub.pause();
    for (const note of notes(0, 10)) {
      must(world.hub.send(signer.address, { note }, [varied(32 * 1024, note)]));
      must(node.send({ note }, [varied(32 * 1024, note)]));
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

  check("an orchestrator that does not read makes the node give its session up, not its memory", async (world) => {
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

  check("peers beyond the table's size are asked to try later", async (world) => {
    await world.joined(1);
    const second = world.join(2);
    assertStringIncludes((await second.events.next("disconnected")).reason, "try again later");
  }, { limits: { peers: 1 } });
}

/** Which of two processes with one hotkey stays, and how soon a dismissed node returns. */
export function rivalCases(check: Check): void {
  check("a second process with the same hotkey waits until the first is gone, and both are told", async (world) => {
    const first = await world.joined(1);
    const second = world.join(1);
    let refused = await second.events.next("disconnected");
    assertMatch(
      refused.reason,
      /^Another process uses this hotkey: it signed in from .* at \d{4}-.* UTC, and its link is alive/,
    );
    assertEquals((await world.hubEvents.next("rivalRefused")).peer, first.signer.address);
    for (let attempt = 2; attempt <= 4; attempt++) {
      world.timers.advance(refused.retryMs);
      refused = await second.events.next("disconnected");
    }
    assertEquals(world.hubEvents.count("rivalRefused"), 1, "once a minute");
    must(first.node.send({ note: 4 }));
    assertEquals((await world.hubEvents.next("message")).message, { note: 4 });
    first.node.close("stopped");
    await world.hubEvents.next("peerDisconnected");
    world.timers.advance(4_000);
    await second.events.next("connected");
    await world.hubEvents.next("peerLost");
    assertEquals((await world.hubEvents.next("peerConnected")).resumed, false);
    must(second.node.send({ note: 5 }));
    assertEquals((await world.hubEvents.next("message")).message, { note: 5 });
  });

  check("a node that is sent away again and again waits longer each time, up to a minute", async (world) => {
    const { events, signer } = await world.joined(1);
    const waits: number[] = [];
    for (let time = 1; time <= 10; time++) {
      world.hub.close(signer.address, fault("badBlob", "Cannot keep this node as it could not load its stage"));
      await events.next("sessionLost");
      const { retryMs } = await events.next("disconnected");
      waits.push(retryMs);
      world.timers.advance(retryMs);
      await events.next("connected");
    }
    assert(waits.slice(0, 7).every((wait, at) => at === 0 || wait > 0.9 * waits[at - 1]!), String(waits));
    assert(waits[0]! <= 500 && waits.at(-1)! >= 30_000 && Math.max(...waits) <= 60_000, String(waits));
    world.timers.advance(30_000); // this link lasts
    world.hub.close(signer.address, fault("badBlob", "Cannot keep this node as it could not load its stage"));
    assert((await events.next("disconnected")).retryMs <= 500);
  }, { limits: { heartbeatMs: 60_000 } });
}
