/** A validator's stages: kept while there is room, opened again when there is none, and the same numbers either way. */

import { assert, assertEquals, assertRejects } from "@std/assert";
import { HeldStages } from "../../../cli/node/stages/held_stages.ts";
import { ValidatorHost } from "../../../cli/node/validator_host.ts";
import type { ComputeHost } from "../../../cli/device/compute_host.ts";
import { byteSegments } from "../../../cli/roles/segments.ts";
import type { RunConfig } from "../../../core/config/config.ts";
import { parameterTable, stageSpecs } from "../../../core/model/spec.ts";
import { splitLayers } from "../../../core/model/stages.ts";
import { AssertionFailure } from "../../../core/assert.ts";
import { countingBatches } from "../../lab/world/counting_batches.ts";
import { referenceHost } from "../../lab/world/devices.ts";
import { tinyConfig } from "../../support/tiny_model.ts";

const config: RunConfig = tinyConfig();
const specs = stageSpecs(config, splitLayers(config));
const blobs = { put: () => Promise.reject(new Error("none")), get: () => Promise.reject(new Error("none")) };
const initial = { config, round: 0, source: { type: "initial" } as const };
const bytesOf = (stages: number) => stages * Math.max(...specs.map((spec) => 8 * parameterTable(spec).length));

/** Counts what is open on it. */
function countingHost() {
  const host = referenceHost();
  const counts = { open: 0, most: 0, opened: 0 };
  const device: ComputeHost = {
    ...host,
    openStage: async (spec, options) => {
      const stage = await host.openStage(spec, options);
      counts.open += 1;
      counts.opened += 1;
      counts.most = Math.max(counts.most, counts.open);
      const close = stage.close.bind(stage);
      stage.close = () => {
        counts.open -= 1;
        close();
      };
      return stage;
    },
  };
  return { device, counts };
}

Deno.test("Held stages: all are kept where there is room, and opened once", async () => {
  const { device, counts } = countingHost();
  const stages = new HeldStages({ device, blobs });
  for (const spec of [...specs, ...specs]) await stages.at(spec, initial);
  assertEquals(counts, { open: 3, most: 3, opened: 3 });
  stages.close();
  assertEquals(counts.open, 0);
});

Deno.test("Held stages: with room for two the least recently used is closed first, with none there is one", async () => {
  const { device, counts } = countingHost();
  const stages = new HeldStages({ device, blobs, memoryBytes: bytesOf(2) });
  for (const index of [0, 1, 0, 2, 0, 1]) await stages.at(specs[index]!, initial);
  assertEquals(counts, { open: 2, most: 2, opened: 4 });
  stages.close();
  const small = countingHost();
  const alone = new HeldStages({ device: small.device, blobs, memoryBytes: 1 });
  for (const spec of [...specs, ...specs]) await alone.at(spec, initial);
  assertEquals([small.counts.most, small.counts.opened], [1, 6]);
});

Deno.test("Held stages: a stage that is not trained keeps no state and takes no step", async () => {
  const { device } = countingHost();
  const { compute } = await new HeldStages({ device, blobs }).at(specs[0]!, initial);
  assertEquals((await compute.readOptimizer()).vectors, {});
  const hyper = { learningRate: 1, gradientScale: 1, beta1: 0.9, beta2: 0.9, epsilon: 1e-8, weightDecay: 0 };
  await assertRejects(() => compute.step(hyper), AssertionFailure, "opened without an optimizer");
});

Deno.test("Validator: an evaluation with one stage at a time has the loss of one with all stages", async () => {
  const losses: number[] = [];
  for (const memoryBytes of [undefined, 1]) {
    const segments = byteSegments();
    const { device, counts } = countingHost();
    const host = new ValidatorHost({ device, blobs, segments, memoryBytes });
    const { inputs, targets } = countingBatches(config).heldOut(5);
    const hold = (ids: Uint32Array) => segments.hold(new Uint8Array(ids.buffer, ids.byteOffset, ids.byteLength));
    const sources = specs.map(() => ({ type: "initial" }) as const);
    const work = { type: "evaluate" as const, round: 0, sources, inputs: hold(inputs), targets: hold(targets) };
    const result = await host.perform({ config, layersOfStages: splitLayers(config), work });
    assert(result.type === "evaluate");
    assertEquals(counts.most, memoryBytes === undefined ? 3 : 1);
    losses.push(result.loss);
  }
  assertEquals(losses[0], losses[1]);
});
