/**
 * Thousands of nodes that come back at once, in virtual time: the production hub and nodes over a network where each new
 * connection and each hello takes the hub's one thread as long as measured (`iota bench hub hello`).
 */

import { assert, assertEquals } from "@std/assert";
import { keyOf, openStream } from "../../core/prng.ts";
import { checkNetLimits, defaultNetLimits } from "../../net/limits.ts";
import { LinkWorld } from "../support/link_world.ts";
import { ManualTimers } from "../support/manual_timers.ts";

interface Outage {
  readonly nodes: number;
  readonly downMs: number;
  readonly helloMs: number; // of the hub's thread
  readonly pendingHellos?: number;
}

/** How long after the hub was up again the last node was connected. */
function returnMs({ nodes, downMs, helloMs, pendingHellos = defaultNetLimits.pendingHellos }: Outage): number {
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
      hubWork: { connectionMs: 0.3, helloMs },
    },
  });
  const waitForAll = (): number => {
    const sinceMs = timers.nowMs();
    while (world.members.some(({ isConnected }) => !isConnected)) {
      timers.advance(100);
      assert(timers.nowMs() - sinceMs < 120_000, "the hub must not refuse for ever");
    }
    return timers.nowMs() - sinceMs;
  };
  for (const { node } of world.members) node.connect();
  waitForAll();
  timers.advance(10_000);
  world.stopHub("shut down");
  timers.advance(downMs);
  assertEquals(world.members.filter(({ isConnected }) => isConnected).length, 0);
  world.startHub();
  const tookMs = waitForAll();
  assertEquals(world.lostSessions, nodes, "every node is told that its session is gone");
  return tookMs;
}

Deno.test("Reconnect: 2,000 nodes are back within 5 s of a hub that was away for 2 s", () => {
  const tookMs = returnMs({ nodes: 2000, downMs: 2000, helloMs: 0.1 });
  assert(tookMs <= 5000, `${tookMs} ms`);
});

Deno.test("Reconnect: after a minute the longest wait of a node decides", () => {
  const tookMs = returnMs({ nodes: 2000, downMs: 60_000, helloMs: 0.1 });
  assert(tookMs <= 5500, `${tookMs} ms`);
});

Deno.test("Reconnect: when each hello takes 3 ms the hub's thread decides, and little is wasted", () => {
  const tookMs = returnMs({ nodes: 2000, downMs: 2000, helloMs: 3 });
  assert(tookMs <= 1.2 * 2000 * 3.3, `${tookMs} ms`);
});

Deno.test("Reconnect: a table of 32 hellos sends most nodes away, and yet takes them all", () => {
  const tookMs = returnMs({ nodes: 1000, downMs: 2000, helloMs: 3, pendingHellos: 32 });
  assert(tookMs <= 15_000, `${tookMs} ms`);
});
