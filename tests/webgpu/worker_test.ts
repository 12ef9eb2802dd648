/** The compute worker: same results as in-thread, several stages on one device, readable faults. */

import { assertEquals, assertRejects } from "@std/assert";
import type { StageCompute, StageInput } from "../../gpu/compute.ts";
import { createWebGpuStage } from "../../gpu/webgpu/stage/webgpu_stage.ts";
import { ComputeError, openComputeWorker } from "../../gpu/worker_client.ts";
import { gpuTest } from "../support/gpu_adapter.ts";
import { parametersOf, specAt, specsOf, tinyConfig, tokensOf } from "../support/tiny_model.ts";

const specs = specsOf(tinyConfig({ model: { layers: 2 }, pipeline: { stages: 2, codec: "iota" } }));
const headSpec = specAt(specs, 0);
const tailSpec = specAt(specs, 1);
const hyper = { learningRate: 1e-3, gradientScale: 1, beta1: 0.9, beta2: 0.95, epsilon: 1e-8, weightDecay: 0.1 };

/** One microbatch through both stages and a step; every method of the interface is called. */
async function oneStep(head: StageCompute, tail: StageCompute) {
  const { tokens, targets } = tokensOf(headSpec);
  const input: StageInput = { type: "tokens", tokens };
  await head.loadParameters(parametersOf(headSpec));
  await tail.loadParameters(parametersOf(tailSpec));
  await tail.zeroGradients();
  const wire: StageInput = { type: "wire", wire: await head.forward(input) };
  const evaluated = await tail.evaluate(wire, targets);
  const logits = await tail.logitsAt(wire, 5);
  const { lossPerSequence, gradient } = await tail.turnaround(wire, targets);
  const towardsTokens = await head.backward(input, gradient!);
  const squareSums = [await head.gradientSquareSum(), await tail.gradientSquareSum()];
  const gradients = await head.readGradients();
  await head.step(hyper);
  const moments = await head.readOptimizer();
  await head.loadOptimizer(moments);
  const parameters = await head.readParameters();
  return {
    wire,
    evaluated,
    logits,
    lossPerSequence,
    gradient,
    towardsTokens,
    squareSums,
    gradients,
    moments,
    parameters,
  };
}

gpuTest("ComputeWorker: two stages in one worker give the bits of the same stages in this thread", async (support) => {
  const { gpu, kernels } = support;
  const here = [
    await createWebGpuStage(gpu, headSpec, { kernels }),
    await createWebGpuStage(gpu, tailSpec, { kernels }),
  ];
  const expected = await oneStep(here[0]!, here[1]!);
  for (const stage of here) stage.close();
  const worker = await openComputeWorker({ device: "webgpu" });
  assertEquals(worker.adapter, gpu.adapter);
  const head = await worker.openStage(headSpec);
  const tail = await worker.openStage(tailSpec);
  assertEquals(await oneStep(head, tail), expected);
  head.close();
  worker.close();
});

Deno.test("ComputeWorker: a fault rejects its call with the worker's words and leaves the worker usable", async () => {
  const worker = await openComputeWorker({ device: "cpu" });
  const stage = await worker.openStage(headSpec);
  const short = { type: "tokens", tokens: new Uint32Array(3) } as const;
  const error = await assertRejects(() => stage.forward(short), ComputeError, "3");
  assertEquals(error.kind, "AssertionFailure");
  await stage.loadParameters(parametersOf(headSpec));
  worker.close();
});

Deno.test("ComputeWorker: finish lets calls in flight end and refuses later ones; close rejects them all", async () => {
  const worker = await openComputeWorker({ device: "cpu" });
  const stage = await worker.openStage(headSpec);
  const inFlight = stage.readParameters();
  const finished = worker.finish();
  const late = assertRejects(() => stage.readParameters(), ComputeError, "takes no more calls");
  assertEquals((await inFlight).length, parametersOf(headSpec).length);
  await Promise.all([finished, late]);
  worker.close();
  await assertRejects(() => stage.readParameters(), ComputeError, "the compute worker was closed");
});
