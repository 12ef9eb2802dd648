/** The basis of a simulation: the order of its queue, and the transport contract of its network. */

import { assert, assertEquals, assertThrows } from "@std/assert";
import { digest } from "../../lab/sim/digest.ts";
import { Dice } from "../../lab/sim/dice.ts";
import { EventQueue } from "../../lab/world/event_queue.ts";
import { holdsExactly, symbolicSegments } from "../../lab/sim/processes/symbolic_segments.ts";
import { Network } from "../../lab/sim/network/network.ts";
import type { HubEnd, NodeEnd } from "../../lab/sim/network/network_peer.ts";
import { isSameState } from "../../support/same_state.ts";
import { nodeId } from "../../../core/ids.ts";

Deno.test("EventQueue: entries run by time, then in the order they were scheduled", () => {
  const queue = new EventQueue();
  const dice = new Dice(1, "queue");
  const wanted: { atMs: number; sequence: number }[] = [];
  const ran: { atMs: number; sequence: number }[] = [];
  for (let sequence = 0; sequence < 5000; sequence++) {
    const entry = { atMs: dice.below(300), sequence };
    wanted.push(entry);
    queue.at(entry.atMs, () => {
      assertEquals(queue.nowMs, entry.atMs);
      ran.push(entry);
    });
  }
  while (queue.runNext());
  assertEquals(ran, wanted.toSorted((a, b) => a.atMs - b.atMs || a.sequence - b.sequence));
  assertThrows(() => queue.at(10, () => {}), Error, "Cannot schedule at 10: it is already ");
});

Deno.test("Digests: parts keep their borders", () => {
  assert(digest("x", "ab", "c") !== digest("x", "a", "bc"));
  assert(digest("x", 1) !== digest("x", "1"));
  assertEquals(digest("x", "ab", 2.5), digest("x", "ab", 2.5));
});

Deno.test("States: the same are equal in parts, order and identity", () => {
  const shared = { a: 1 };
  const other = { a: 1 };
  assert(isSameState([new Map([["k", shared]]), -0, NaN, null], [new Map([["k", other]]), -0, NaN, null]));
  assert(isSameState([shared, shared], [other, other]));
  const different: [unknown, unknown][] = [
    [new Set([1, 2]), new Set([2, 1])],
    [new Map([["k", 1], ["l", 2]]), new Map([["l", 2], ["k", 1]])],
    [new Map([["k", 1]]), new Map([["k", 2]])],
    [[shared, shared], [other, { a: 1 }]],
    [[other, { a: 1 }], [shared, shared]],
    [[1], [1, undefined]],
    [{ a: 1 }, { b: 1 }],
    [{ a: 1 }, { a: 1, b: undefined }],
    [{}, []],
    [0, -0],
    [null, {}],
  ];
  for (const [a, b] of different) assert(!isSameState(a, b) && !isSameState(b, a), `${Deno.inspect([a, b])} differ`);
});

Deno.test("Segments: holding without bytes, each as often as it is named, is told exactly", () => {
  const held = symbolicSegments();
  const [wire, other] = ["wire", "other"].map((name) => ({ hash: digest(name), bytes: 8 }));
  assert(wire !== undefined && other !== undefined);
  for (const ref of [wire, other, wire]) held.hold(ref);
  assert(holdsExactly(held, [wire, wire, other]));
  assert(!holdsExactly(held, [wire, other, other]) && !holdsExactly(held, [wire, other]) && !holdsExactly(held, []));
});

/** A node and an orchestrator that record what they receive; the node numbers what it sends. */
function openPair(sessionKeepMs: number) {
  const queue = new EventQueue();
  const network = new Network({ queue, seed: 7, sessionKeepMs });
  const heard: { hub: string[]; node: string[] } = { hub: [], node: [] };
  const hub: HubEnd = {
    take(event) {
      if (event.type === "peerConnected") heard.hub.push(event.resumed ? "resumed" : "connected");
      else if (event.type !== "message") heard.hub.push(event.type);
      else heard.hub.push(event.message.type === "stepSealed" ? `${event.message.step}` : event.message.type);
    },
  };
  const end: NodeEnd = {
    node: nodeId("node"),
    role: "miner",
    take(change) {
      if (change.type === "connected") heard.node.push(change.resumed ? "resumed" : "connected");
      else heard.node.push(change.type === "message" ? change.message.type : change.type);
    },
  };
  network.hubUp(hub);
  network.start(end);
  const runFor = (ms: number) => {
    const untilMs = queue.nowMs + ms;
    queue.at(untilMs, () => {});
    while (queue.nextMs <= untilMs) queue.runNext();
  };
  const send = (step: number) =>
    network.sendToHub(end.node, {
      ...{ type: "stepSealed", step, request: 1, tasks: 1, gradientSquareSum: 1 },
      ...{ root: "", signature: "" },
    }, []);
  runFor(5000);
  return { network, end, heard, runFor, send };
}

Deno.test("Network: messages arrive once and in order through a link that breaks again and again", () => {
  const { network, end, heard, runFor, send } = openPair(120_000);
  for (let step = 0; step < 200; step++) {
    send(step);
    if (step % 20 === 10) network.cut(end.node);
    if (step % 50 === 30) network.partition(end.node, { towards: "hub", forMs: 5000 });
    runFor(700);
  }
  runFor(120_000);
  const numbers = heard.hub.filter((text) => /^\d/.test(text)).map(Number);
  assertEquals(numbers, Array.from({ length: 200 }, (_, step) => step));
  assert(heard.hub.filter((text) => text === "resumed").length > 5);
  assert(!heard.node.includes("sessionLost"));
});

Deno.test("Network: a session without a link for too long is lost, and the node starts a new one", () => {
  const { network, end, heard, runFor, send } = openPair(2500);
  network.sleep(end.node, 60_000);
  send(1);
  runFor(120_000);
  assertEquals(heard.node, ["connected", "disconnected", "sessionLost", "connected"]);
  assertEquals(heard.hub, ["connected", "peerDisconnected", "peerLost", "connected"]);
});

Deno.test("Network: closing a session tells the node whether it may come back", () => {
  const again = openPair(2500);
  again.network.close(again.end.node, { isFinal: false });
  again.runFor(10_000);
  assertEquals(again.heard.node, ["connected", "sessionLost", "disconnected", "connected"]);
  const final = openPair(2500);
  final.network.close(final.end.node, { isFinal: true });
  final.runFor(10_000);
  assertEquals(final.heard.node, ["connected", "refused"]);
});
