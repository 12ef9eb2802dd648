/** How many tasks a miner holds at once, by what its results take beyond computing. */

import { assertEquals } from "@std/assert";
import type { NodeId } from "../../core/ids.ts";
import { placesFor } from "../../core/orchestrator/members/places.ts";
import { ScriptedOrchestrator } from "../support/swarm/scripted_orchestrator.ts";
import { tinyConfig } from "../support/tiny_model.ts";

const computeMs = 25;

/** One head and one tail; steps of 24 microbatches. The tail has no link to wait for. */
function swarm(leasesPerMiner = 16) {
  const hub = new ScriptedOrchestrator({
    train: { microbatchesPerStep: 24, steps: 6, stepsPerRound: 6 },
    swarm: { replicas: 1, validators: 0 },
    limits: { leaseMs: 600_000, leasesPerMiner, frameBytes: 2 ** 22 },
  });
  const [head, tail] = [hub.ready("miner-0"), hub.ready("miner-1")];
  return { hub, head, tail };
}

/** A step in which the head's results arrive so long after it was handed a task, and it says `claimedMs`. */
function step(hub: ScriptedOrchestrator, options: { head: NodeId; tail: NodeId; tripMs: number; claimedMs?: number }) {
  const { head, tail, tripMs, claimedMs = computeMs } = options;
  const { step } = hub.state;
  const held = hub.tasksOf(head).length;
  for (let turn = 0; turn < 1_000 && hub.state.step === step; turn++) {
    for (const node of [tail, head]) {
      if (hub.maySeal(node)) hub.seal(node);
      if (hub.state.step > step || hub.tasksOf(node).length === 0) continue;
      const task = hub.take(node, "runTask");
      hub.nowMs += node === head ? computeMs + tripMs : computeMs;
      hub.finish(node, task, node === head ? claimedMs : computeMs);
    }
  }
  assertEquals(hub.state.step, step + 1);
  return held;
}

Deno.test("Places: over a fast link a miner holds four tasks, over a slow one as many as keep it busy, from the next step on", () => {
  for (const [tripMs, held] of [[0, 4], [50, 4], [150, 8], [10_000, 16]] as const) {
    const { hub, head, tail } = swarm();
    assertEquals(step(hub, { head, tail, tripMs }), 4);
    assertEquals(step(hub, { head, tail, tripMs }), held);
    assertEquals(hub.state.members.get(tail)!.places, 4);
  }
});

Deno.test("Places: a false time of computing gets a miner no more than the limit, and no less than others without a slow link", () => {
  for (const [claimedMs, held] of [[0, 9], [1e9, 4]] as const) {
    const { hub, head, tail } = swarm(9);
    step(hub, { head, tail, tripMs: 150, claimedMs });
    assertEquals(step(hub, { head, tail, tripMs: 150, claimedMs }), held);
  }
});

Deno.test("Places: the limit holds below four, fixed wiring keeps four, and large tasks must fit the session", () => {
  const { hub, head } = swarm();
  const member = { ...hub.state.members.get(head)!, tripRatio: 100 };
  const config = (limits: { leasesPerMiner: number; frameBytes?: number }, deterministic = false) =>
    tinyConfig({ deterministic, limits: { outboxBytes: 2 ** 26, frameBytes: 2 ** 22, ...limits } });
  assertEquals(placesFor(config({ leasesPerMiner: 2 }), member), 2);
  assertEquals(placesFor(config({ leasesPerMiner: 64 }), member), 16);
  assertEquals(placesFor(config({ leasesPerMiner: 64, frameBytes: 2 ** 23 }), member), 8);
  assertEquals(placesFor(config({ leasesPerMiner: 64 }, true), member), 4);
});
