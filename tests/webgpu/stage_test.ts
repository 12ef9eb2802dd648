/** What the WebGPU stage promises beyond the shared conformance suite: repeatable bits, both kernel families, refusals. */

import { assert, assertEquals, assertRejects } from "@std/assert";
import { AssertionFailure } from "../../core/assert.ts";
import type { StageSpec } from "../../core/model/spec.ts";
import { hardwareKernels, softwareKernels } from "../../gpu/webgpu/ops.ts";
import { createWebGpuStage } from "../../gpu/webgpu/stage/webgpu_stage.ts";
import { tokenIndex } from "../../gpu/token_index.ts";
import { type GpuSupport, gpuTest } from "../support/gpu_adapter.ts";
import { parametersOf, specAt, specsOf, tinyConfig, tokensOf } from "../support/tiny_model.ts";

const hyper = { learningRate: 3e-3, gradientScale: 0.5, beta1: 0.9, beta2: 0.95, epsilon: 1e-8, weightDecay: 0.1 };
const wholeModel = (): StageSpec => specAt(specsOf(tinyConfig({ pipeline: { stages: 1 } })), 0);

/** Three steps of two microbatches on the whole model. */
async function train({ gpu, kernels }: GpuSupport, settings = softwareKernels) {
  const spec = wholeModel();
  const stage = await createWebGpuStage(gpu, spec, { kernels, settings });
  await stage.loadParameters(parametersOf(spec));
  const losses: number[] = [];
  for (let microbatch = 0; microbatch < 6; microbatch++) {
    const { tokens, targets } = tokensOf(spec, microbatch % 2);
    const { lossPerSequence, gradient } = await stage.turnaround({ type: "tokens", tokens }, targets);
    assertEquals(gradient, null);
    losses.push(...lossPerSequence);
    if (microbatch % 2 === 1) await stage.step(hyper);
  }
  const parameters = await stage.readParameters();
  const moments = await stage.readOptimizer();
  stage.close();
  return { parameters, moments, losses };
}

gpuTest("WebGpuStage: three training steps give the same bits twice, and a lower loss", async (support) => {
  const first = await train(support);
  const second = await train(support);
  assertEquals(second, first);
  assertEquals(first.moments.steps, 3);
  assert(first.losses.at(-1)! < first.losses[3]!, `the loss went from ${first.losses[3]} to ${first.losses.at(-1)}`);
});

gpuTest("WebGpuStage: the kernels for real GPUs train as those for software adapters do", async (support) => {
  const software = await train(support);
  const hardware = await train(support, hardwareKernels);
  software.losses.forEach((loss, i) => assert(Math.abs(loss - hardware.losses[i]!) < 1e-4, `loss ${i}`));
});

gpuTest("WebGpuStage: operations that a stage lacks are rejected", async ({ gpu, kernels }) => {
  const specs = specsOf(tinyConfig());
  const tail = await createWebGpuStage(gpu, specAt(specs, 2), { kernels });
  const { tokens, targets } = tokensOf(specAt(specs, 2));
  await assertRejects(() => tail.forward({ type: "tokens", tokens }), AssertionFailure, "The tail has no forward");
  await assertRejects(() => tail.turnaround({ type: "tokens", tokens }, targets), AssertionFailure, "reads a wire");
  const short = { type: "wire", wire: new Uint8Array(8) } as const;
  await assertRejects(
    () => tail.evaluate(short, targets),
    AssertionFailure,
    "must have 8192 bytes: current value is ",
  );
  await assertRejects(() => tail.loadParameters(new Float32Array(3)), AssertionFailure, "current value is 3");
  tail.close();
  await assertRejects(() => tail.zeroGradients(), AssertionFailure, "stage 2 is closed");
});

gpuTest("WebGpuStage: a token id outside the vocabulary is refused", async ({ gpu, kernels }) => {
  const spec = wholeModel();
  const stage = await createWebGpuStage(gpu, spec, { kernels });
  const { tokens, targets } = tokensOf(spec);
  targets[3] = 64;
  await assertRejects(() => stage.evaluate({ type: "tokens", tokens }, targets), AssertionFailure, "must be below 64");
  stage.close();
});

Deno.test("tokenIndex: lists each distinct id with its positions in ascending order", () => {
  const index = tokenIndex(Uint32Array.of(7, 2, 7, 9));
  assertEquals([...index.subarray(0, 1)], [3]);
  assertEquals([...index.subarray(1, 4)], [2, 7, 9]);
  assertEquals([...index.subarray(5, 9)], [0, 1, 3, 4]);
  assertEquals([...index.subarray(10)], [1, 0, 2, 3]);
});
