/** Blocks that are computed again in the backward: equal bits in every role of a stage, and less memory. */

import { assert, assertEquals } from "@std/assert";
import type { StageSpec } from "../../core/model/spec.ts";
import type { StageCompute, StageOptions } from "../../gpu/compute.ts";
import { bytesOfCpuStage, createCpuStage } from "../../gpu/cpu/cpu_stage.ts";
import { createReferenceStage } from "../lab/reference/stage.ts";
import { createWebGpuStage } from "../../gpu/webgpu/stage/webgpu_stage.ts";
import {
  computeCases,
  gradientTolerance,
  relativeL2,
  suiteMicrobatch,
  suiteParameters,
} from "../conformance/compute_world.ts";
import { gpuTest } from "../support/gpu_adapter.ts";
import { specAt, specsOf, tinyConfig } from "../support/tiny_model.ts";
import { isWhole } from "../support/whole.ts";

type Open = (spec: StageSpec, options: StageOptions) => Promise<StageCompute>;

/** All results of two microbatches; what a stage keeps of the first forward is overwritten by the second, if it can be. */
async function resultsOf(open: Open, { spec, options }: { spec: StageSpec; options: StageOptions }) {
  const stage = await open(spec, options);
  await stage.loadParameters(suiteParameters(spec));
  const results: unknown[] = [];
  const microbatches = [0, 1].map((index) => ({ name: `${index}`, ...suiteMicrobatch(spec, index) }));
  if (spec.wireOut !== null) {
    for (const { input, name } of microbatches) results.push(await stage.forward(input, { name }));
  }
  for (const { input, targets, gradient, name } of microbatches) {
    results.push(
      gradient === null ? await stage.turnaround(input, targets) : await stage.backward(input, gradient, { name }),
    );
  }
  results.push(await stage.readGradients());
  stage.close();
  return results;
}

/** 2112 rows: the feed-forward half works on them in two parts. */
const manyRows = (): StageSpec =>
  specAt(
    specsOf(tinyConfig({
      model: { width: 32, layers: 2, heads: 2, kvHeads: 1, ffnWidth: 64, contextLength: 64 },
      pipeline: { stages: 1 },
      train: { sequencesPerMicrobatch: 33 },
    })),
    0,
  );

/** `only`: parts of the names of cases; a software driver takes long to build stages. */
async function assertSameBits(open: Open, only?: readonly string[]): Promise<void> {
  const cases = computeCases().filter(({ name }) => only === undefined || only.some((part) => name.includes(part)));
  for (const { name, spec } of [...cases, { name: "many rows", spec: manyRows() }]) {
    const held = await resultsOf(open, { spec, options: { activationBytes: 0 } });
    for (const activationBytes of [0, 2 ** 20]) {
      const options = { recomputes: true, activationBytes };
      assertEquals(await resultsOf(open, { spec, options }), held, `${name}, ${activationBytes} bytes for forwards`);
    }
  }
}

Deno.test("Recomputed blocks: every result has the bits of held activations on the processor", async () => {
  await assertSameBits(createCpuStage);
});

gpuTest("Recomputed blocks: every result has the bits of held activations on the adapter", async ({ gpu, kernels }) => {
  const ofEveryRole = ["head, codec iota, 2 layers", "3 layers, 4:4 heads", "q5block, both ends", "tail, codec none"];
  await assertSameBits(
    (spec, options) => createWebGpuStage(gpu, spec, { kernels, ...options }),
    isWhole ? undefined : ofEveryRole,
  );
});

/** What the parts of the feed-forward half make is what the whole would: the reference knows no parts. */
async function assertLikeReference(open: Open): Promise<void> {
  const of = async (which: Open) => (await resultsOf(which, { spec: manyRows(), options: {} })).at(-1) as Float32Array;
  const [actual, expected] = [await of(open), await of((spec) => Promise.resolve(createReferenceStage(spec)))];
  const error = relativeL2(actual, expected);
  assert(error < gradientTolerance, `gradients are off by ${error}`);
}

Deno.test("Feed-forward in parts: gradients of many rows agree with the reference on the processor", async () => {
  await assertLikeReference(createCpuStage);
});

gpuTest(
  "Feed-forward in parts: gradients of many rows agree with the reference on the adapter",
  async ({ gpu, kernels }) => {
    await assertLikeReference((spec, options) => createWebGpuStage(gpu, spec, { kernels, ...options }));
  },
);

Deno.test("Recomputed blocks: a layer more costs its parameters, gradients, moments and input, no other activation", async () => {
  const specOf = (layers: number) => specAt(specsOf(tinyConfig({ model: { layers }, pipeline: { stages: 1 } })), 0);
  const [four, eight] = [specOf(4), specOf(8)];
  const bytesOf = async (recomputes: boolean) =>
    (await bytesOfCpuStage(eight, { recomputes }) - await bytesOfCpuStage(four, { recomputes })) / 4;
  const [again, held] = [await bytesOf(true), await bytesOf(false)];
  const { width, ffnWidth, contextLength } = four.model;
  const rows = four.sequences * contextLength;
  const weights = 2 * width ** 2 + 2 * width * width / 2 + 3 * width * ffnWidth + 2 * width;
  assert(Math.abs(again - 16 * weights - 4 * rows * width) < 1024, `${again} bytes`);
  assert(held - again > 4 * rows * (4 * width + 3 * ffnWidth), `${held} and ${again} bytes`);
});
