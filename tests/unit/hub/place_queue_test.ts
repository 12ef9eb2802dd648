/** The order in which nodes get the places of a full run. */

import { assertEquals, assertMatch } from "@std/assert";
import { PlaceQueue } from "../../../cli/orchestrator/hub/members/places.ts";
import { nodeId } from "../../../core/ids.ts";
import { ManualTimers } from "../../support/net/manual_timers.ts";

const [a, b, c] = ["5A", "5B", "5C"].map(nodeId) as [
  ReturnType<typeof nodeId>,
  ReturnType<typeof nodeId>,
  ReturnType<typeof nodeId>,
];

function world(queued: ReturnType<typeof nodeId>[] = []) {
  const timers = new ManualTimers();
  let saved: readonly string[] = queued;
  const queue = new PlaceQueue({ queued, onChange: (nodes) => saved = nodes, steadyMs: () => timers.steadyMs() });
  const ask = (node: typeof a, free: number, most = 2) => queue.ask(node, { free, most })?.detail ?? "in";
  return { timers, queue, ask, saved: () => saved };
}

Deno.test("Places: a full run says what rank a node has and what would let it in", () => {
  const { ask, saved } = world();
  assertMatch(
    ask(a, 0),
    /^Every stage has its 2 miners, .*1 of 1 in the queue. It gets one when a miner leaves, or .*minersPerStage/,
  );
  assertMatch(ask(a, 0, 1), /^Every stage has its 1 miner, /);
  assertMatch(ask(b, 0), /2 of 2 in the queue/);
  assertMatch(ask(a, 0), /1 of 2 in the queue/);
  assertEquals(saved(), [a, b]);
});

Deno.test("Places: the first in the queue gets the free place, whoever asks first then", () => {
  const { ask, queue } = world();
  ask(a, 0);
  ask(b, 0);
  assertMatch(ask(c, 1), /3 of 3/);
  assertMatch(ask(b, 1), /2 of 3/);
  assertEquals(ask(a, 1), "in");
  assertMatch(ask(b, 1), /2 of 3/, "the place is kept until it is taken");
  queue.left(a);
  assertEquals(ask(b, 1), "in");
  assertEquals(world().ask(c, 1), "in");
});

Deno.test("Places: a rank survives a restart of the node and of the orchestrator, and a node that is away blocks nobody", () => {
  const { timers, ask, saved } = world();
  ask(a, 0);
  ask(b, 0);
  timers.advance(60_000);
  assertEquals(ask(b, 1), "in", "the first one is away");
  assertMatch(ask(a, 0), /1 of 1/);
  const after = world(saved().map(nodeId));
  assertMatch(after.ask(b, 0), /2 of 2/);
  assertMatch(after.ask(c, 1), /3 of 3/);
  after.timers.advance(600_001);
  assertMatch(after.ask(c, 0), /1 of 1/);
  assertEquals(after.saved(), [c]);
});
