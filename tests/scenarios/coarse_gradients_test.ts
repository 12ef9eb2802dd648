/** Whole runs whose gradients come back in codes of four bits: honest tasks pass on other kernels, and made-up ones are proven. */

import { assert, assertEquals, assertGreater, assertLess } from "@std/assert";
import { decodeWire, encodeWire } from "../../core/codec/wire.ts";
import { taskOutput } from "../../core/model/stage_wires.ts";
import { processor, referenceHost } from "../lab/world/devices.ts";
import { World } from "../lab/world/world.ts";
import { assertWhole, configOf, recordsOf } from "../support/swarm/whole_run.ts";
import { rowTest, slowTest } from "../support/whole.ts";

const config = configOf({
  pipeline: { codec: "q5block", bottleneckWidth: 24, gradientBits: 4, stages: 3 },
  model: { width: 64, layers: 3 },
  train: { steps: 6, stepsPerRound: 3, microbatchesPerStep: 6 },
  validate: { statesPerRound: 1000, gradientsPerRound: 1 },
  swarm: { replicas: 2, validators: 2 },
});
const otherKernels = { device: processor };

/** A miner whose gradients are these values. */
function liar(values: (honest: Float32Array, passed: Float32Array) => Float32Array) {
  const device = referenceHost();
  const openStage: typeof device.openStage = async (spec, options) => {
    const stage = await device.openStage(spec, options);
    const wire = taskOutput(spec, "backward");
    const backward = stage.backward.bind(stage);
    stage.backward = async (input, gradient, ...rest) => {
      const bytes = await backward(input, gradient, ...rest);
      if (bytes === null || wire === null) return bytes;
      return encodeWire(wire, values(decodeWire(wire, bytes), decodeWire(wire, gradient)));
    };
    return stage;
  };
  return { device: { ...device, openStage } };
}

async function swarmOf(options: Parameters<World["addMiner"]>[0] = {}) {
  const swarm = new World({ config });
  const members = [];
  for (let i = 0; i < 6; i++) members.push(await swarm.addMiner(i === 4 ? options : {}));
  for (let i = 0; i < 2; i++) swarm.addValidator(otherKernels);
  await swarm.runThrough();
  return { swarm, member: members[4]! };
}

slowTest("Coarse gradients: of an honest run all audits pass, far below the tolerance", async () => {
  const { swarm } = await swarmOf();
  assertWhole(swarm);
  const verdicts = recordsOf(swarm, "verdict");
  const backwards = verdicts.filter(({ task }) => task.includes("backward") || task.includes("turnaround"));
  assertGreater(backwards.length, 10);
  for (const verdict of verdicts) assert(verdict.passed, JSON.stringify(verdict));
  assertLess(Math.max(...backwards.map(({ innovationError }) => innovationError)), 0.05 / 2);
  assertEquals(recordsOf(swarm, "blamed"), []);
});

const lies = {
  "passes its gradient on": (_honest: Float32Array, passed: Float32Array) => passed,
  "shrinks its gradients by less than a code": (honest: Float32Array) => honest.map((value) => 0.82 * value),
};

for (const [name, values] of Object.entries(lies)) {
  rowTest(
    name.startsWith("shrinks"),
    `Coarse gradients: a miner that ${name} is found by its validator, proven by the orchestrator and banned`,
    async () => {
      const { swarm, member } = await swarmOf(liar(values));
      const failed = recordsOf(swarm, "verdict").filter(({ passed }) => !passed);
      assertGreater(failed.length, 0);
      for (const verdict of failed) assertEquals(verdict.miner as string, member.address);
      assertEquals(recordsOf(swarm, "nodeLost").map(({ node }) => node as string), [member.address]);
      assertEquals(recordsOf(swarm, "blamed").filter(({ node }) => node !== member.address), []);
    },
  );
}
