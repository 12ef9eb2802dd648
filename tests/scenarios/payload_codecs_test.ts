/** Whole runs with every payload codec: replicas agree, nobody is blamed, the loss falls; miners come back with their residual. */

import { assert, assertEquals, assertLess } from "@std/assert";
import { payloadCodecOf } from "../../core/update/payload/payload_codecs.ts";
import { payloadCodecNames } from "../../core/config/payload_codec_names.ts";
import { World } from "../lab/world/world.ts";
import { pass } from "../support/swarm/pass_simulation.ts";
import { shapeOf } from "../lab/sim/swarm_shape.ts";
import { tinyConfig } from "../support/tiny_model.ts";
import { rowTest, slowTest } from "../support/whole.ts";

for (const payload of payloadCodecNames) {
  rowTest(
    payload === "sparse",
    `Payload codec ${payload}: three replicas a stage agree on every merge, and learn`,
    async () => {
      const config = tinyConfig({
        swarm: { replicas: 3, validators: 2 },
        train: { steps: 12, stepsPerRound: 3 },
        outer: { learningRate: 1, momentum: 0, payload, density: 1 / 8 },
      });
      const codec = payloadCodecOf(config);
      let [bytes, values] = [0, 0];
      const swarm = new World({
        config,
        watch: (record, { orchestrator: { state } }) => {
          if (record.type !== "mergePhase" || record.phase !== "reducing") return;
          for (const each of state.merge?.stages[record.stage]?.payloads.values() ?? []) {
            bytes += each.bytes.reduce((sum, slice) => sum + slice, 0);
            values += state.stageFloats[record.stage]!;
          }
        },
      });
      await swarm.startAll();
      const { finished } = await swarm.run();
      assert(finished);
      assertEquals(swarm.orchestrator.state.counters.disagreements, 0);
      const records = swarm.records.all;
      const merges = records.flatMap((record) => record.type === "roundMerged" ? [record] : []);
      assertEquals(merges.length, 4);
      for (const { stages } of merges) for (const stage of stages) assert(stage.agree && stage.replicas === 3);
      assertEquals(records.filter((record) => record.type === "faultSeen" || record.type === "warning"), []);
      const losses = records.flatMap((record) => record.type === "evaluated" ? [record.loss] : []);
      assert(losses.every(Number.isFinite));
      assertLess(losses.at(-1)!, losses[0]!);
      const most = { float32: 4, bf16: 2, int8: 1.04, sparse: 0.3 }[payload];
      assert(bytes / values <= most, `${bytes / values} bytes a value`);
      assertEquals(codec.name, payload);
    },
  );
}

/** What a residual holds of earlier rounds is far more than one step with a small rate can make. */
for (const [name, finalLearningRateFraction] of [["a rate of zero", 0], ["a small rate", 0.01]] as const) {
  slowTest(
    `Payload codec sparse: a last round of one step with ${name} is merged, and nobody is blamed`,
    async () => {
      const config = tinyConfig({
        swarm: { replicas: 3, validators: 1 },
        train: { steps: 25, stepsPerRound: 12, decayFraction: 0.04, finalLearningRateFraction },
        outer: { payload: "sparse", density: 1 / 8 },
      });
      const swarm = new World({ config });
      await swarm.startAll();
      assert((await swarm.run()).finished);
      const records = swarm.records.all;
      assertEquals(records.filter(({ type }) => type === "blamed" || type === "warning"), []);
      for (const { round, units } of swarm.orchestrator.state.reports) assertEquals([round, units.size], [round, 9]);
    },
  );
}

slowTest("Payload codecs: simulated swarms with faults and liars keep what they promise with each of them", () => {
  const seen = new Set<string>();
  for (let seed = 1; seen.size < payloadCodecNames.length; seed++) {
    const { outer } = shapeOf({ seed, miners: 24, forwardMs: 60 }).config;
    const name = payloadCodecOf({ outer }).name;
    if (seen.has(name)) continue;
    seen.add(name);
    pass({ seed, miners: 24, minutes: 1, forwardMs: 60, faults: "drawn" });
  }
});
