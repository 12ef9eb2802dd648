/** A stage whose last miner is gone: the run's records say at once that it waits, and when it goes on. */

import { assertEquals } from "@std/assert";
import { stageIndex } from "../../core/ids.ts";
import { World } from "../lab/world/world.ts";
import { ScriptedOrchestrator } from "../support/swarm/scripted_orchestrator.ts";
import { finishTraining } from "../support/swarm/shown_rounds.ts";
import { assertWhole, configOf, recordsOf } from "../support/swarm/whole_run.ts";

Deno.test("Waiting: a stage that loses its last miner is recorded at once, and again when a newcomer serves it", async () => {
  const swarm = new World({
    config: configOf({ swarm: { replicas: 1 } }),
    watch: (record, world) => {
      if (record.type === "stepClosed" && record.step === 2) world.kill(world.members[1]!.address);
    },
  });
  const waits = () => recordsOf(swarm, "stagesUnserved").map(({ stages }) => [...stages]);
  await swarm.startAll();
  await swarm.runUntil(() => waits().length > 0, 1_000); // long before it counts as lost
  assertEquals([waits(), swarm.records.count("nodeLost")], [[[stageIndex(1)]], 0]);
  await swarm.runUntil(() => swarm.records.count("nodeLost") === 1);
  await swarm.addMiner();
  await swarm.runThrough();
  assertWhole(swarm);
  assertEquals(waits().slice(-2), [[stageIndex(1)], []]);
});

Deno.test("Waiting: a stage with another miner does not wait, and every stage does after a restart", () => {
  const hub = new ScriptedOrchestrator({
    train: { microbatchesPerStep: 2, steps: 100, stepsPerRound: 2 },
    swarm: { replicas: 2, validators: 0 },
    limits: { leaseMs: 60_000, disconnectGraceMs: 10_000, restartGraceMs: 20_000 },
  });
  const nodes = Array.from({ length: 4 }, (_, i) => hub.ready(`miner-${i}`));
  const waits = () => hub.records.flatMap((record) => record.type === "stagesUnserved" ? [[...record.stages]] : []);
  hub.step({ type: "nodeDisconnected", node: nodes[0]! });
  assertEquals(waits(), []);
  hub.step({ type: "restarted" });
  assertEquals(waits(), [[0, 1].map(stageIndex)]);
});

Deno.test("Waiting: stages whose miners load them again, as the round begins anew, have a miner", () => {
  const hub = new ScriptedOrchestrator({
    train: { microbatchesPerStep: 2, steps: 100, stepsPerRound: 1 },
    swarm: { replicas: 1, validators: 0 },
  });
  const nodes = [hub.ready("miner-0"), hub.ready("miner-1")];
  finishTraining(hub, nodes);
  for (const node of nodes) {
    const upload = { status: 413, bytes: 64, clockMs: 0 };
    hub.tell(node, { type: "mergeFailed", round: 0, fault: { code: "uploadFailed", detail: "", upload } });
  }
  assertEquals([hub.count("mergeRetaken"), hub.count("stagesUnserved")], [1, 0]);
});
