/** A run in which every stage has its most miners: one more is asked to retry, and gets the first free place. */

import { assertEquals } from "@std/assert";
import { nodeId } from "../../core/ids.ts";
import { freePlaces } from "../../core/orchestrator/members/roster.ts";
import { ScriptedOrchestrator } from "../support/swarm/scripted_orchestrator.ts";

Deno.test("Full run: members have their places, also away; validators need none", () => {
  const hub = new ScriptedOrchestrator({ swarm: { replicas: 1, validators: 0 }, limits: { minersPerStage: 1 } });
  assertEquals(freePlaces(hub.state), 2);
  hub.ready("miner-0");
  hub.ready("miner-1");
  assertEquals(freePlaces(hub.state), 0);
  hub.validator("judge");
  assertEquals(freePlaces(hub.state), 0);
});

Deno.test("Full run: a miner that joins at the same moment as the last place goes is sent away for a while, not for good", () => {
  const hub = new ScriptedOrchestrator({ swarm: { replicas: 1, validators: 0 }, limits: { minersPerStage: 1 } });
  hub.ready("miner-0");
  hub.ready("miner-1");
  const late = hub.join("late");
  const left = hub.effects.filter((effect) => effect.type === "disconnect");
  assertEquals(left.map(({ node, fault }) => [node, fault.code]), [[late, "limitExceeded"]]);
  assertEquals([hub.inbox(late), hub.state.members.has(late)], [[], false]);
  hub.tell(nodeId("miner-0"), { type: "leaving", reason: "enough" });
  hub.join("late");
  assertEquals(hub.state.members.has(late), true);
});
