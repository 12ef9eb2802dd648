/**
 * A stage computed layer by layer has the bits of the whole stage, in every direction and with every codec at its ends; sums of
 * gradients differ by the order of additions. */

import { assert, assertEquals, assertRejects } from "@std/assert";
import { codecNames } from "../../../core/codec/codec_names.ts";
import { initialParameters } from "../../../core/model/initial.ts";
import { layerSpecs } from "../../../core/model/layer_specs.ts";
import { parameterTable, type StageSpec, stageSpecs } from "../../../core/model/spec.ts";
import type { StageCompute } from "../../../gpu/compute.ts";
import { cpuAdapter, createCpuStage } from "../../../gpu/cpu/cpu_stage.ts";
import { LayeredStage } from "../../../gpu/fit/layered_stage.ts";
import { suiteMicrobatch } from "../../conformance/compute_world.ts";
import { tinyConfig } from "../../support/tiny_model.ts";

const layersOfStages = [3, 3, 3];
const model = { width: 32, heads: 4, kvHeads: 2, ffnWidth: 96, layers: 9, contextLength: 16 };

const opened = (spec: StageSpec) => createCpuStage(spec, { optimizer: null });

/** Length of the difference, as a share of the length. */
function distance(found: Float32Array, expected: Float32Array): number {
  const length = (of: (i: number) => number) => Math.hypot(...expected.keys().map(of));
  return length((i) => found[i]! - expected[i]!) / length((i) => expected[i]!);
}

async function pairOf(spec: StageSpec): Promise<[whole: StageCompute, layered: StageCompute]> {
  const whole = await opened(spec);
  const layered = new LayeredStage(spec, { adapter: cpuAdapter, open: opened, keepsGradients: true });
  const parameters = initialParameters(parameterTable(spec), 7);
  await whole.loadParameters(parameters);
  await layered.loadParameters(parameters);
  return [whole, layered];
}

for (const { codec, sideWidth } of codecNames.flatMap((codec) => [0, 8].map((sideWidth) => ({ codec, sideWidth })))) {
  const title = `codec ${codec}${sideWidth === 0 ? "" : " and sides"}`;
  Deno.test(`Layered stage: head, body and tail with ${title} have the whole stage's bits`, async () => {
    const config = tinyConfig({ model, pipeline: { codec, sideWidth, stages: 3 } });
    for (const spec of stageSpecs(config, layersOfStages)) {
      const [whole, layered] = await pairOf(spec);
      for (const index of [0, 1]) {
        const { input, gradient, targets } = suiteMicrobatch(spec, index);
        if (spec.wireOut === null) {
          assertEquals(await layered.evaluate(input, targets), await whole.evaluate(input, targets));
          assertEquals(await layered.turnaround(input, targets), await whole.turnaround(input, targets));
          assertEquals(await layered.logitsAt(input, 3), await whole.logitsAt(input, 3));
          continue;
        }
        assertEquals(await layered.forward(input), await whole.forward(input));
        assert(gradient !== null);
        assertEquals(await layered.backward(input, gradient), await whole.backward(input, gradient));
      }
      const [sums, expected] = [await layered.readGradients(), await whole.readGradients()];
      assert(distance(sums, expected) < 1e-6, `gradients of stage ${spec.index}`); // added in another order
      const squareSum = await whole.gradientSquareSum();
      assert(Math.abs(await layered.gradientSquareSum() - squareSum) <= 1e-6 * squareSum);
      await layered.zeroGradients();
      assertEquals(await layered.gradientSquareSum(), 0);
      whole.close();
      layered.close();
    }
  });
}

Deno.test("Layered stage: the layers have all of the stage's tensors, and it takes no steps", async () => {
  const [head] = stageSpecs(tinyConfig({ model, pipeline: { stages: 3 } }), layersOfStages);
  const names = layerSpecs(head!).flatMap(({ table }) => table.tensors.map(({ name }) => name));
  assertEquals(names.toSorted(), parameterTable(head!).tensors.map(({ name }) => name).toSorted());
  const [, layered] = await pairOf(head!);
  await assertRejects(
    () => layered.step({ learningRate: 1, gradientScale: 1, beta1: 0, beta2: 0, epsilon: 1, weightDecay: 0 }),
    Error,
    "takes no steps",
  );
});
