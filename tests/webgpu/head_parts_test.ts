/** A vocabulary whose logits are made for some rows at a time: the losses and gradients are those of the whole. */

import { assert, assertEquals } from "@std/assert";
import type { StageSpec } from "../../core/model/spec.ts";
import type { StageCompute } from "../../gpu/compute.ts";
import { createCpuStage } from "../../gpu/cpu/cpu_stage.ts";
import { logitRows } from "../../gpu/layers/head.ts";
import { createReferenceStage } from "../lab/reference/stage.ts";
import { createWebGpuStage } from "../../gpu/webgpu/stage/webgpu_stage.ts";
import { relativeL2 } from "../conformance/compute_world.ts";
import { gpuTest } from "../support/gpu_adapter.ts";
import { parametersOf, specAt, specsOf, tinyConfig, tokensOf } from "../support/tiny_model.ts";

const vocabSize = 65_600;

/** One layer, 9 x 16 rows: two parts of 64 and one of 16. */
const largeVocabulary = (): StageSpec =>
  specAt(
    specsOf(tinyConfig({
      model: { vocabSize, width: 16, layers: 1, heads: 2, kvHeads: 1, ffnWidth: 16 },
      pipeline: { stages: 1 },
      train: { sequencesPerMicrobatch: 9 },
    })),
    0,
  );

async function turnedAround(stage: StageCompute): Promise<{ losses: Float32Array; gradients: Float32Array }> {
  const { tokens, targets } = tokensOf(stage.spec);
  await stage.loadParameters(parametersOf(stage.spec));
  const input = { type: "tokens", tokens } as const;
  const { lossPerSequence } = await stage.turnaround(input, targets);
  const gradients = await stage.readGradients();
  assertEquals(await stage.evaluate(input, targets), lossPerSequence);
  stage.close();
  return { losses: lossPerSequence, gradients };
}

const reference = turnedAround(createReferenceStage(largeVocabulary()));

async function assertLikeReference(stage: StageCompute): Promise<void> {
  const expected = await reference;
  const actual = await turnedAround(stage);
  const losses = relativeL2(actual.losses, expected.losses);
  const gradients = relativeL2(actual.gradients, expected.gradients);
  assert(losses < 1e-6 && gradients < 1e-5, `losses are off by ${losses}, gradients by ${gradients}`);
}

Deno.test("Head: the rows whose logits are held fit 32 MiB and never fall below what an adapter can bind", () => {
  const held = (rows: number, vocabulary: number) => logitRows({ rows, vocabulary });
  assertEquals([held(512, 1024), held(2048, 4096), held(8192, 16_384)], [512, 2048, 512]);
  assertEquals([held(144, vocabSize), held(8192, 128_256), held(8192, 10_000_000)], [64, 64, 64]);
});

Deno.test("Head: logits in parts give the reference's losses and gradients on the processor", async () => {
  await assertLikeReference(await createCpuStage(largeVocabulary()));
});

gpuTest("Head: logits in parts give the reference's losses and gradients on the adapter", async ({ gpu, kernels }) => {
  await assertLikeReference(await createWebGpuStage(gpu, largeVocabulary(), { kernels }));
});
