/** A run in which every stage has its most miners: one more is asked to retry, and gets the first free place. */

import { assertEquals, assertMatch } from "@std/assert";
import { nodeId } from "../../core/ids.ts";
import { roomFault } from "../../core/orchestrator/members/roster.ts";
import { ScriptedOrchestrator } from "../support/swarm/scripted_orchestrator.ts";

const miner = (name: string) => ({ node: nodeId(name), role: "miner" as const });

Deno.test("Full run: another miner is told to try again at its hello, members and validators are not", () => {
  const hub = new ScriptedOrchestrator({ swarm: { replicas: 1, validators: 0 }, limits: { minersPerStage: 1 } });
  assertEquals(roomFault(hub.state, miner("late")), null);
  hub.ready("miner-0");
  hub.ready("miner-1");
  const fault = roomFault(hub.state, miner("late"));
  assertEquals(fault?.code, "limitExceeded", "a code after which a node comes again");
  assertMatch(fault?.detail ?? "", /every stage has 1 miners, which is the most; try again later/);
  assertEquals(roomFault(hub.state, miner("miner-1")), null, "it comes back to its own place");
  assertEquals(roomFault(hub.state, { node: nodeId("late"), role: "validator" }), null);
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
