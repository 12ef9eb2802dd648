/** Whole runs with another payload codec in the table: sparse, of variable length, with a residual, and a result of its own form. */

import { assert, assertEquals, assertLess } from "@std/assert";
import { checkRow, type Row } from "../support/attack/attack_checks.ts";
import { commitsPayload } from "../lab/redteam/hostile_merges.ts";
import { allOf, oneOf } from "../lab/redteam/hostile_wires.ts";
import { World } from "../lab/world/world.ts";
import { pass } from "../support/swarm/pass_simulation.ts";
import { tinyConfig } from "../support/tiny_model.ts";
import { topHalf, topHalfTest, withTopHalf } from "../support/top_half_codec.ts";
import { isWhole, slowTest } from "../support/whole.ts";

async function trained(replicas: number) {
  const config = tinyConfig({
    swarm: { replicas, validators: 2 },
    train: { steps: 12, stepsPerRound: 3 },
    outer: { learningRate: 0.7, momentum: 0.9 },
  });
  const payloads: number[] = [];
  const swarm = new World({
    config,
    watch: (record, { orchestrator: { state } }) => {
      if (record.type !== "mergePhase" || record.phase !== "reducing") return;
      for (const { bytes } of state.merge?.stages[record.stage]?.payloads.values() ?? []) payloads.push(...bytes);
    },
  });
  await swarm.startAll();
  const { finished } = await swarm.run();
  assert(finished);
  return { swarm, payloads };
}

for (const replicas of isWhole ? [1, 2, 3] : [2]) {
  topHalfTest(`Payload codec: ${replicas} replicas a stage agree on merges of sparse payloads, and learn`, async () => {
    const { swarm, payloads } = await trained(replicas);
    const { counters, stageFloats } = swarm.orchestrator.state;
    assertEquals(counters.disagreements, 0);
    const records = swarm.records.all;
    const merges = records.flatMap((record) => record.type === "roundMerged" ? [record] : []);
    assertEquals(merges.length, 4);
    for (const { stages } of merges) for (const stage of stages) assert(stage.agree && stage.replicas === replicas);
    assertEquals(records.filter((record) => record.type === "faultSeen" || record.type === "warning"), []);
    const losses = records.flatMap((record) => record.type === "evaluated" ? [record.loss] : []);
    assertLess(losses.at(-1)!, losses[0]!);
    const most = Math.max(...stageFloats.map((floats) => topHalf.payloadBytes(floats).most));
    for (const bytes of payloads) assert(bytes >= 8 && bytes <= most, `${bytes}`);
    assert(new Set(payloads).size > 1, "of several lengths");
  });
}

const attacks: readonly Row[] = [
  { name: "a place that is none", miners: [{ stage: 1, hostile: commitsPayload(oneOf(Infinity)) }] },
  { name: "bytes that are not a payload", miners: [{ stage: 0, hostile: commitsPayload(allOf(NaN)) }] },
];

for (const row of attacks) {
  slowTest(`Attack, payloads of another codec: ${row.name}`, () => withTopHalf(() => checkRow(row)));
}

slowTest("Payload codec: simulated swarms with faults and liars keep what they promise", () =>
  withTopHalf(() => {
    for (const seed of [1, 2]) pass({ seed, miners: 48, minutes: 1, forwardMs: 60, faults: "drawn" });
  }));
