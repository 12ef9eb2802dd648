/** Whole runs in which every gradient that can be is recomputed, by other kernels than the miners': honest ones pass, by far. */

import { assert, assertEquals } from "@std/assert";
import { processor } from "../lab/world/devices.ts";
import { World } from "../lab/world/world.ts";
import { tinyConfig, type TinyOverrides } from "../support/tiny_model.ts";
import { rowTest } from "../support/whole.ts";

const runs: Readonly<Record<string, TinyOverrides>> = {
  "float32 wires": { pipeline: { codec: "none" } },
  "coarse wires": { pipeline: { codec: "q5block" } },
  "sides": { pipeline: { codec: "q5block", sideWidth: 8 } },
  "one stage": { pipeline: { stages: 1, codec: "none" } },
};

for (const [name, overrides] of Object.entries(runs)) {
  rowTest(
    name === "coarse wires",
    `Gradient audits: of an honest run with ${name} all pass, in first and later steps`,
    async () => {
      const config = tinyConfig({
        deterministic: false,
        swarm: { replicas: 2, validators: 2 },
        train: { steps: 6, stepsPerRound: 3, microbatchesPerStep: 6 },
        validate: { gradientsPerRound: 1000, statesPerRound: 1000 },
        ...overrides,
      });
      const swarm = new World({ config });
      for (let i = 0; i < 2 * config.pipeline.stages; i++) await swarm.addMiner();
      for (let i = 0; i < 2; i++) swarm.addValidator({ device: processor });
      assert((await swarm.run()).finished);
      const steps = new Map<string, number>();
      let largest = 0;
      for (const record of swarm.records.all) {
        assert(record.type !== "blamed", JSON.stringify(record));
        if (record.type !== "verdict" || record.gradient === undefined) continue;
        assert(record.passed, JSON.stringify(record));
        largest = Math.max(largest, record.innovationError);
        steps.set(record.miner, (steps.get(record.miner) ?? 0) + 1);
      }
      assertEquals(steps.size, 2 * config.pipeline.stages, "every miner");
      assert([...steps.values()].some((count) => count > 2), "and more than the rounds' first steps");
      assert(largest < 1e-4, `a hundredth is allowed: ${largest}`);
    },
  );
}
