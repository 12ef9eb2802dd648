/** A member that loads a stage: given up when it gets no further, never before. */

import { assert, assertEquals } from "@std/assert";
import type { NodeId } from "../../core/ids.ts";
import type { LoadingPart } from "../../core/protocol/message.ts";
import { ScriptedOrchestrator } from "../support/swarm/scripted_orchestrator.ts";

const mergePhaseMs = 10_000;
const patienceMs = 2 * mergePhaseMs;

function newcomer() {
  const hub = new ScriptedOrchestrator({ swarm: { replicas: 1, validators: 0 }, limits: { mergePhaseMs } });
  const node = hub.join("slow");
  const { assignment } = hub.inbox(node).find((message) => message.type === "assign")!;
  const say = (part: LoadingPart, percent: number) => hub.tell(node, { type: "loading", assignment, part, percent });
  return { hub, node, assignment, say };
}

const lost = (hub: ScriptedOrchestrator, node: NodeId) => !hub.state.members.has(node);

Deno.test("Loading: a miner that gets on is waited for, far beyond its first deadline, and is ready in the end", () => {
  const { hub, node, say } = newcomer();
  for (let percent = 0; percent <= 100; percent += 4) {
    hub.wait(patienceMs - 1);
    say("fetching", percent);
  }
  hub.wait(patienceMs - 1);
  say("placing", 0);
  assertEquals(lost(hub, node), false, "26 times its patience");
  hub.load(node);
  hub.wait(10 * patienceMs);
  assertEquals([lost(hub, node), hub.count("nodeReady"), hub.count("nodeLoading")], [false, 1, 27]);
});

Deno.test("Loading: a miner that gets no further is given up, and may join again", () => {
  const { hub, node, say } = newcomer();
  hub.wait(patienceMs - 1);
  say("making", 43);
  hub.wait(patienceMs - 1);
  assertEquals(lost(hub, node), false);
  hub.wait(1);
  assertEquals(lost(hub, node), true);
  const [record] = hub.records.filter((each) => each.type === "nodeLost");
  assertEquals(record?.reason, "loading its stage got no further");
  hub.inbox(node).length = 0;
  hub.load(hub.join("slow"));
  assertEquals(hub.count("nodeReady"), 1);
});

Deno.test("Loading: neither repeating nor going back nor another assignment's progress buys time", () => {
  const { hub, node, assignment, say } = newcomer();
  say("fetching", 50);
  for (const [part, percent] of [["fetching", 50], ["fetching", 10], ["making", 100]] as const) {
    hub.wait(patienceMs / 4);
    say(part, percent);
  }
  hub.tell(node, { type: "loading", assignment: assignment + 1, part: "placing", percent: 9 });
  assertEquals(hub.count("nodeLoading"), 1);
  hub.wait(patienceMs / 4);
  assertEquals(lost(hub, node), true);
});

Deno.test("Loading: who pretends for ever is gone after three parts of 101 percents", () => {
  const { hub, node, say } = newcomer();
  const parts = ["making", "fetching", "placing"] as const;
  let said = 0;
  for (const part of parts) {
    for (let percent = 0; percent <= 100; percent++, said++) {
      hub.wait(patienceMs - 1);
      assertEquals(lost(hub, node), false, `${said} reports`);
      say(part, percent);
    }
  }
  say("placing", 100);
  hub.wait(patienceMs);
  assert(lost(hub, node));
  assertEquals(hub.state.alarms.length <= 1, true, "one alarm at a time");
});

Deno.test("Loading: a stage that has nobody else does not wait for a member that says it gets on, percent by percent", () => {
  const hub = new ScriptedOrchestrator({
    swarm: { replicas: 2, gatherMs: 1_000 },
    limits: { mergePhaseMs: 120_000, leaseMs: 3_600_000 },
  });
  const honest = Array.from({ length: 4 }, (_, i) => hub.ready(`miner-${i}`));
  const [first, second] = honest.filter((node) => hub.state.members.get(node)!.stage === 1);
  hub.tell(first!, { type: "leaving", reason: "test" });
  const liar = hub.join("liar");
  assertEquals(hub.state.members.get(liar)!.stage, 1);
  hub.tell(second!, { type: "leaving", reason: "test" });
  const beganMs = hub.nowMs;
  const { assignment } = hub.state.members.get(liar)!;
  for (let percent = 0; percent < 10 && hub.state.rosters[1]!.members.length === 0; percent++) {
    hub.wait(200_000); // a little less than the patience
    hub.tell(liar, { type: "loading", assignment, part: "making", percent });
    for (const node of honest) if (hub.inbox(node).some(({ type }) => type === "assign")) hub.load(node);
  }
  assertEquals(hub.state.rosters[1]!.members.length, 1);
  assert(hub.nowMs - beganMs <= 600_000, `after ${hub.nowMs - beganMs} ms`);
});
