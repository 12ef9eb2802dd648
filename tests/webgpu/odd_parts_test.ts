/** Vectors in parts where widths are multiples of 32 but not of 64: matrices are cut at rows that every adapter can bind. */

import { assert, assertEquals } from "@std/assert";
import { parameterTable, type StageSpec } from "../../core/model/spec.ts";
import type { StageCompute } from "../../gpu/compute.ts";
import { createCpuStage } from "../../gpu/cpu/cpu_stage.ts";
import { cutsOf } from "../../gpu/device_vector.ts";
import { createReferenceStage } from "../lab/reference/stage.ts";
import { createWebGpuStage } from "../../gpu/webgpu/stage/webgpu_stage.ts";
import { gradientTolerance, relativeL2, suiteMicrobatch, suiteParameters } from "../conformance/compute_world.ts";
import { gpuTest } from "../support/gpu_adapter.ts";
import { specAt, specsOf, tinyConfig } from "../support/tiny_model.ts";

const models = [
  { width: 96, heads: 3, kvHeads: 1, ffnWidth: 160, vocabSize: 320, layers: 2, contextLength: 24 },
  { width: 32, heads: 2, kvHeads: 1, ffnWidth: 224, vocabSize: 448, layers: 2, contextLength: 8 },
];
const partBytes = 24 * 1024;

const specs: StageSpec[] = models.flatMap((model) => {
  const config = tinyConfig({ model, pipeline: { stages: 2 }, train: { sequencesPerMicrobatch: 3 } });
  return [0, 1].map((stage) => specAt(specsOf(config, [1, 1]), stage));
});

async function gradientsOf(stage: StageCompute): Promise<Float32Array> {
  const { input, targets, gradient } = suiteMicrobatch(stage.spec, 0);
  await stage.loadParameters(suiteParameters(stage.spec));
  if (gradient === null) await stage.turnaround(input, targets);
  else await stage.backward(input, gradient);
  const gradients = await stage.readGradients();
  stage.close();
  return gradients;
}

async function assertLikeReference(open: (spec: StageSpec) => Promise<StageCompute>): Promise<void> {
  for (const spec of specs) {
    const error = relativeL2(await gradientsOf(await open(spec)), await gradientsOf(createReferenceStage(spec)));
    assert(error < gradientTolerance, `width ${spec.model.width}, stage ${spec.index}: off by ${error}`);
  }
}

Deno.test("Odd parts: within a matrix, or several that form one, parts begin at multiples of 64 rows", () => {
  for (const spec of specs) {
    const { tensors } = parameterTable(spec);
    const cuts = cutsOf(parameterTable(spec), partBytes / 4);
    assert(cuts.length > 2, `${cuts}`);
    for (const cut of cuts) {
      const { offset, size, shape: [rows = 1] } = tensors.findLast(({ name, offset }) =>
        offset <= cut && !/\.(k_proj|v_proj|up_proj)\./.test(name)
      )!;
      assertEquals(((cut - offset) / (size / rows)) % 64, 0, `cut at ${cut} of ${cuts}`);
    }
  }
});

Deno.test("Odd parts: gradients agree with the reference on the processor", async () => {
  await assertLikeReference((spec) => createCpuStage(spec, { partBytes }));
});

gpuTest("Odd parts: gradients agree with the reference on the adapter", async ({ gpu, kernels }) => {
  await assertLikeReference((spec) => createWebGpuStage(gpu, spec, { kernels, partBytes }));
});
