/** Order, wholeness and exactly-once delivery, also over links that break. */

import { assert, assertEquals, assertNotEquals, assertStringIncludes } from "@std/assert";
import { type Check, must, received } from "./transport_check.ts";
import { varied } from "../support/net/varied_bytes.ts";
import { notes } from "./transport_world.ts";

export function deliveryCases(check: Check): void {
  check("messages arrive in order, both ways", async (world) => {
    const { node, events, signer } = await world.joined(1);
    for (const note of notes(0, 200)) {
      must(node.send({ note }));
      must(world.hub.send(signer.address, { note: 1_000 + note }));
    }
    assertEquals(await received(world.hubEvents, 200), notes(0, 200));
    assertEquals(await received(events, 200), notes(0, 200).map((note) => 1_000 + note));
  });

  check("large segments arrive whole and aligned", async (world) => {
    const { node, events, signer } = await world.joined(1);
    const segments = [varied(3_000_001, 1), new Uint8Array(0), varied(5, 2)];
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

  check("miners and validators are distinguished, and each gets its own messages", async (world) => {
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

  check("a message that the schema rejects is a fault, and the link stays up", async (world) => {
    const { node, signer } = await world.joined(1);
    must(node.send({ wrong: 1 } as unknown as { note: number }));
    must(node.send({ note: 2 }));
    const refusedMessage = await world.hubEvents.next("fault");
    assertEquals([refusedMessage.peer, refusedMessage.fault.code], [signer.address, "malformedMessage"]);
    assertEquals((await world.hubEvents.next("message")).message, { note: 2 });
  });
}

export function breakCases(check: Check): void {
  check("every message arrives exactly once across cuts", async (world) => {
    const { node, events, link, signer } = await world.joined(1);
    const up: number[] = [];
    const down: number[] = [];
    for (let cut = 0; cut < 5; cut++) {
      link.swallowing = cut % 2 === 1; // at every other cut, frames in flight are lost
      for (const note of notes(cut * 40, 40)) {
        must(node.send({ note }, [varied(1000, note)]));
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
}

export function damageCases(check: Check): void {
  check("a frame that the link loses is missed by the next one, and the session resumes", async (world) => {
    const member = await world.joined(1);
    const { node, link } = member;
    link.swallowing = true;
    must(node.send({ note: 0 }));
    link.swallowing = false;
    must(node.send({ note: 1 }));
    assertStringIncludes((await world.hubEvents.next("linkDamaged")).fault.detail, "Message 2 arrived instead of 1");
    await world.reconnect(member);
    assertEquals((await world.hubEvents.next("peerConnected")).resumed, true);
    assertEquals(await received(world.hubEvents, 2), notes(0, 2));
  });

  check("a damaged frame is never delivered, and the session resumes", async (world) => {
    const member = await world.joined(1);
    const { node, events, link, signer } = member;
    link.damaging = true;
    must(world.hub.send(signer.address, { note: 0 }, [varied(5000, 1)]));
    await events.next("disconnected");
    link.damaging = false;
    assertEquals(events.count("message"), 0);
    world.timers.advance(500);
    assertEquals((await events.next("connected")).resumed, true);
    const { segments } = await events.next("message");
    assertEquals(segments[0], varied(5000, 1));
    must(node.send({ note: 1 }));
    assertEquals(await received(world.hubEvents, 1), [1]);
  });
}

export function returnCases(check: Check): void {
  check("the back-off grows, with jitter, and an orchestrator that comes back is found", async (world) => {
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
    assertEquals((await events.next("connected")).resumed, true);
    assert(waits[0]! >= 250 && waits[0]! <= 500 && waits[11]! >= 2_000 && waits[11]! <= 4_000, waits.join(" "));
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
