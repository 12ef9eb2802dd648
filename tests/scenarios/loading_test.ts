/** A member that loads a stage: given up when it makes no progress, never before. */

import { assert, assertEquals } from "@std/assert";
import { type NodeId, stageIndex } from "../../core/ids.ts";
import { sendToRest } from "../../core/orchestrator/members/blame.ts";
import { type LoadingPart, loadingParts } from "../../core/protocol/message.ts";
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
  assertEquals(record?.reason, "it made no progress in loading its stage");
  hub.inbox(node).length = 0;
  hub.load(hub.join("slow"));
  assertEquals(hub.count("nodeReady"), 1);
});

Deno.test("Loading: one whose device never answers loses its place to another the second time, heartbeats or not", () => {
  const limits = { mergePhaseMs, leaseMs: 3_600_000 }; // nobody else is late
  const hub = new ScriptedOrchestrator({ swarm: { replicas: 2, validators: 0 }, limits });
  const others = Array.from({ length: 5 }, (_, i) => hub.ready(`miner-${i}`));
  const assigned = () => hub.inbox(silent).filter(({ type }) => type === "assign").length;
  const silent = hub.join("silent");
  hub.wait(patienceMs);
  assertEquals([assigned(), lost(hub, silent)], [1, true]);
  hub.inbox(silent).length = 0;
  hub.join("silent");
  hub.wait(patienceMs);
  assertEquals([assigned(), lost(hub, silent)], [1, true], "a slow link gets another chance");
  hub.inbox(silent).length = 0;
  hub.join("silent");
  hub.wait(10 * patienceMs);
  assertEquals(assigned(), 0, "its stage has another replica");
  assertEquals(others.filter((node) => lost(hub, node)), []);
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

/** Reports one percent of progress at intervals; false once the orchestrator no longer accepts it. */
function endlessLoader(hub: ScriptedOrchestrator, node: NodeId) {
  let reached = 0;
  const assignment = hub.state.members.get(node)!.assignment;
  return (): boolean => {
    const part = loadingParts[Math.floor(reached / 101)];
    if (hub.state.members.get(node)?.status !== "loading" || part === undefined) return false;
    hub.tell(node, { type: "loading", assignment, part, percent: reached++ % 101 });
    return true;
  };
}

Deno.test("Loading: a run begins without the member that loads for ever, once another stage can spare a miner", () => {
  const hub = new ScriptedOrchestrator({
    pipeline: { stages: 3, codec: "none" },
    swarm: { replicas: 1, gatherMs: 1_000, validators: 0 },
    limits: { leaseMs: 60_000, mergePhaseMs },
  });
  hub.ready("first");
  const endless = hub.join("endless");
  hub.ready("second");
  hub.ready("third");
  assertEquals(hub.state.members.get(endless)?.stage, 1);
  const getsOn = endlessLoader(hub, endless);
  const fromMs = hub.nowMs;
  while (hub.state.members.get(endless)?.stage === 1 && hub.count("nodeMoved") === 0 && getsOn()) hub.wait(1_000);
  assert(hub.nowMs - fromMs <= patienceMs + 2_000, `moved after ${hub.nowMs - fromMs} ms`);
  const [moved] = hub.records.filter((record) => record.type === "nodeMoved");
  assertEquals([moved?.from, moved?.to], [0, 1]);
  hub.load(moved!.node);
  hub.wait(2_000);
  assertEquals([hub.state.phase, hub.state.members.get(endless)?.status], ["training", "loading"]);
});

Deno.test("Loading: a suspended miner is not a reason to wait for a stage that only an endless loader has", () => {
  const hub = new ScriptedOrchestrator({
    pipeline: { stages: 2, codec: "none" },
    swarm: { replicas: 3, gatherMs: 1_000, validators: 0 },
    limits: { leaseMs: 60_000, mergePhaseMs },
  });
  const nodes = Array.from({ length: 6 }, (_, i) => hub.ready(`m${i}`));
  const of = (stage: number) => nodes.filter((node) => hub.state.members.get(node)!.stage === stage);
  const [suspended] = of(0) as [NodeId];
  const [endless, ...leavers] = of(1) as [NodeId, NodeId, NodeId];
  hub.tell(suspended, { type: "leaving", reason: "" });
  sendToRest(hub.state, suspended);
  hub.join(suspended);
  assertEquals([hub.state.members.get(suspended)?.stage, hub.state.waiting.has(suspended)], [null, true]);
  hub.tell(endless, { type: "leaving", reason: "" });
  hub.join(endless, { previousStage: stageIndex(1) });
  const getsOn = endlessLoader(hub, endless);
  for (const node of leavers) hub.tell(node, { type: "leaving", reason: "" });
  const fromMs = hub.nowMs;
  while (hub.count("nodeMoved") === 0 && getsOn()) hub.wait(1_000);
  assert(hub.nowMs - fromMs <= patienceMs + 2_000, `covered after ${hub.nowMs - fromMs} ms`);
});
