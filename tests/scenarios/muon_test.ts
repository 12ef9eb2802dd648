/** Runs with Muon: they learn, their honest payloads pass the orchestrator's check, and payloads beyond what its steps can do do not. */

import { assert, assertEquals, assertLess } from "@std/assert";
import type { PayloadStats } from "../../core/update/payload_stats.ts";
import { World } from "../lab/world/world.ts";
import { commit, merging, stageOf } from "../support/swarm/scripted_merge.ts";
import { tinyConfig } from "../support/tiny_model.ts";
import { slowTest } from "../support/whole.ts";

slowTest("Muon: a whole run of two replicas a stage agrees on its merges, learns, and nobody is blamed", async () => {
  const lengths: number[] = [];
  const config = tinyConfig({
    pipeline: { codec: "iota" },
    swarm: { replicas: 2, validators: 1 },
    train: { optimizer: "muon", learningRate: 1e-2, steps: 12, stepsPerRound: 3 },
    outer: { learningRate: 1, momentum: 0 },
  });
  const swarm = new World({
    config,
    watch: (record, { orchestrator: { state } }) => {
      if (record.type !== "mergePhase" || record.phase !== "reducing") return;
      lengths.push(...state.merge?.stages[record.stage]?.lengths.values() ?? []);
    },
  });
  await swarm.startAll();
  const { finished } = await swarm.run();
  assert(finished);
  const records = swarm.records.all;
  assertEquals(records.filter((record) => record.type === "faultSeen" || record.type === "blamed"), []);
  const merges = records.flatMap((record) => record.type === "roundMerged" ? [record] : []);
  assertEquals(merges.length, 4);
  for (const { stages } of merges) for (const { agree, replicas } of stages) assert(agree && replicas === 2);
  assertEquals(lengths.length, 4 * 3 * 2);
  assert(lengths.every((length) => length > 0.05 && length < 1.2), `shares of the update-norm bound: ${lengths}`);
  const losses = records.flatMap((record) => record.type === "evaluated" ? [record.loss] : []);
  assertLess(losses.at(-1)!, losses[0]! - 0.5);
});

/** What becomes of one replica's payload of these numbers, in sums of the round's learning rates. */
function judged(ofLiar: { rootMeanSquare: number; value: number }, optimizer: "adamw" | "muon"): "merged" | "blamed" {
  const { hub, nodes } = merging(3, { model: { ffnWidth: 16384 }, train: { optimizer } });
  const liar = nodes[0]!;
  const { roundRates, stageFloats } = hub.state;
  hub.statsOf = (node): PayloadStats => {
    const { rootMeanSquare, value } = node === liar ? ofLiar : { rootMeanSquare: 0.3, value: 1 };
    return {
      isFinite: true,
      squareSum: stageFloats[0]! * (rootMeanSquare * roundRates) ** 2,
      largest: value * roundRates,
    };
  };
  for (const node of nodes) commit(hub, node);
  assertEquals(stageOf(hub).payloads.has(nodes[1]!), true, "the honest one stays");
  const isBlamed = hub.records.some((record) => record.type === "blamed" && record.node === liar);
  assertEquals(stageOf(hub).payloads.has(liar), !isBlamed);
  return isBlamed ? "blamed" : "merged";
}

Deno.test("Muon: payloads as far as its steps can go are merged, those beyond are blamed, 1e30 in any case", () => {
  const longest = 0.605 * Math.sqrt(16384); // of one value, in a matrix of this side
  const cases = [
    { payload: { rootMeanSquare: 0.605, value: longest }, muon: "merged", adamw: "blamed" },
    { payload: { rootMeanSquare: 0.605, value: 1.2 * longest }, muon: "blamed", adamw: "blamed" },
    { payload: { rootMeanSquare: 3.9, value: 20 }, muon: "merged", adamw: "merged" },
    { payload: { rootMeanSquare: 4.1, value: 20 }, muon: "blamed", adamw: "blamed" },
    { payload: { rootMeanSquare: 1, value: 1e30 }, muon: "blamed", adamw: "blamed" },
    { payload: { rootMeanSquare: 1e30, value: 1e30 }, muon: "blamed", adamw: "blamed" },
  ] as const;
  for (const { payload, muon, adamw } of cases) {
    assertEquals([judged(payload, "muon"), judged(payload, "adamw")], [muon, adamw], JSON.stringify(payload));
  }
});
