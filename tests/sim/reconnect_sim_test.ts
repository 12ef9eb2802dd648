/**
 * Thousands of nodes that come back at once, in virtual time: the production orchestrator and nodes over a network where each new
 * connection and each hello takes the orchestrator's one thread as long as measured (`iota bench hub hello`).
 */

import { assert, assertEquals } from "@std/assert";
import { keyOf, openStream } from "../../core/prng.ts";
import { decodeFrame } from "../../net/messages/frame.ts";
import type { Hello } from "../../net/auth/hello_records.ts";
import { checkNetLimits, defaultNetLimits } from "../../net/limits.ts";
import { LinkWorld } from "../support/net/link_world.ts";
import { ManualTimers } from "../support/net/manual_timers.ts";

interface Outage {
  readonly nodes: number;
  readonly downMs: number;
  readonly how?: "crashed" | "shut down"; // crashed: as without power; for a killed process its system hangs up
  readonly hello: HelloWork;
  readonly pendingHellos?: number;
  readonly isAnotherHub?: boolean; // in its next life it has another key for tickets
}

/** Milliseconds of the orchestrator's thread. */
interface HelloWork {
  readonly signedMs: number;
  readonly ticketMs: number;
}

const measured: HelloWork = { signedMs: 1.2, ticketMs: 0.1 };
const connectionMs = 0.3;

/** How long after the orchestrator was up again the last node was connected. */
function returnMs(outage: Outage): number {
  const { nodes, downMs, how = "shut down", hello, pendingHellos = defaultNetLimits.pendingHellos } = outage;
  const timers = new ManualTimers();
  const world = new LinkWorld({
    timers,
    limits: checkNetLimits({ ...defaultNetLimits, pendingHellos }),
    nodes,
    seed: 1,
    network: {
      stream: openStream(keyOf(1, "reconnect")),
      latencyMs: 20,
      jitterMs: 60,
      bytesPerMs: 10_000,
      hubWork: { connectionMs, frameMs: (bytes) => helloMs(bytes, hello) },
    },
  });
  const waitForAll = (lostSessions: number): number => {
    const sinceMs = timers.nowMs();
    while (world.lostSessions < lostSessions || world.members.some(({ isConnected }) => !isConnected)) {
      timers.advance(100);
      assert(timers.nowMs() - sinceMs < 120_000, "the orchestrator must not refuse for ever");
    }
    return timers.nowMs() - sinceMs;
  };
  for (const { node } of world.members) node.connect();
  waitForAll(0);
  timers.advance(10_000);
  world.stopHub(how);
  timers.advance(downMs);
  if (outage.isAnotherHub) world.ticketKeySeed++;
  world.startHub();
  const tookMs = waitForAll(nodes);
  assertEquals(world.lostSessions, nodes, "every node is told that its session is gone");
  return tookMs;
}

function helloMs(bytes: Uint8Array, work: HelloWork): number {
  const frame = decodeFrame(bytes, defaultNetLimits);
  if (!frame.ok || (frame.value.header as Hello | null)?.type !== "hello") return 0;
  return (frame.value.header as Hello).proof.type === "ticket" ? work.ticketMs : work.signedMs;
}

Deno.test("Reconnect: 2,000 nodes are back within 3 s of an orchestrator that was away for 2 s", () => {
  const tookMs = returnMs({ nodes: 2000, downMs: 2000, hello: measured });
  assert(tookMs <= 3000, `${tookMs} ms`);
});

Deno.test("Reconnect: 5,000 nodes are back within 5 s of an orchestrator that was away for 2 s", () => {
  const tookMs = returnMs({ nodes: 5000, downMs: 2000, hello: measured });
  assert(tookMs <= 5000, `${tookMs} ms`);
});

Deno.test("Reconnect: 5,000 nodes are back within 5 s of an orchestrator that was away for a minute", () => {
  const tookMs = returnMs({ nodes: 5000, downMs: 60_000, hello: measured });
  assert(tookMs <= 5000, `${tookMs} ms`);
});

Deno.test("Reconnect: an orchestrator that cannot open their tickets has them sign, on the same connection", () => {
  const tookMs = returnMs({ nodes: 1000, downMs: 2000, hello: measured, isAnotherHub: true });
  assert(tookMs <= 1.2 * 1000 * (connectionMs + measured.ticketMs + measured.signedMs) + 500, `${tookMs} ms`);
});

Deno.test("Reconnect: when each hello takes 3 ms the orchestrator's thread decides, and little is wasted", () => {
  const tookMs = returnMs({ nodes: 2000, downMs: 2000, hello: { signedMs: 3, ticketMs: 3 } });
  assert(tookMs <= 1.2 * 2000 * 3.3, `${tookMs} ms`);
});

Deno.test("Reconnect: a table of 32 hellos sends most nodes away, and yet takes them all", () => {
  const tookMs = returnMs({ nodes: 1000, downMs: 2000, hello: { signedMs: 3, ticketMs: 3 }, pendingHellos: 32 });
  assert(tookMs <= 15_000, `${tookMs} ms`);
});
