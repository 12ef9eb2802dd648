/**
 * AdamW and the gradient norm when the parameters do not fit one storage binding: cutting the vector into ranges changes no
 * bit of the step and leaves no element of the norm out.
 */

import { assertAlmostEquals, assertEquals } from "@std/assert";
import { StageBuffers } from "../../../gpu/buffers.ts";
import { buildOptimizer, hyperValues } from "../../../gpu/optimizer.ts";
import { type GpuSupport, gpuTest } from "../../support/gpu_adapter.ts";

const length = 5 * 256 + 64; // five whole ranges of 1024 bytes and a rest
const decayLength = 3 * 256 + 128; // ends inside the fourth
const hyper = { learningRate: 0.1, gradientScale: 0.5, beta1: 0.9, beta2: 0.95, epsilon: 1e-8, weightDecay: 0.1 };
const wave = (seed: number) => Float32Array.from({ length }, (_, i) => Math.sin(seed + i));

async function stepped({ gpu, kernels }: GpuSupport, bindingBytes: number) {
  const buffers = new StageBuffers(gpu);
  buffers.reserveStaging(1 << 17);
  const state = {
    parameters: buffers.storage("parameters", length),
    gradients: buffers.storage("gradients", length),
    firstMoments: buffers.storage("first moments", length),
    secondMoments: buffers.storage("second moments", length),
  };
  const optimizer = buildOptimizer(kernels, buffers, { state, length, decayLength, bindingBytes });
  await kernels.warmUp();
  buffers.upload(state.parameters, wave(1));
  buffers.upload(state.gradients, wave(2));
  buffers.upload(state.firstMoments, wave(3));
  buffers.upload(state.secondMoments, wave(4).map(Math.abs));
  buffers.upload(optimizer.hyper, hyperValues(hyper, 3));
  kernels.run(optimizer.squareSum);
  const partial = await buffers.readFloats(optimizer.partialSums, optimizer.partialSums.size / 4);
  kernels.run(optimizer.step);
  const result = {
    parameters: await buffers.readFloats(state.parameters, length),
    gradients: await buffers.readFloats(state.gradients, length),
    first: await buffers.readFloats(state.firstMoments, length),
    second: await buffers.readFloats(state.secondMoments, length),
  };
  buffers.destroy();
  return { ...result, dispatches: optimizer.step.length, squareSum: partial.reduce((a, b) => a + b, 0) };
}

gpuTest("Optimizer: a vector cut into ranges steps to the same bits as a whole one", async (support) => {
  const whole = await stepped(support, 1 << 20);
  const cut = await stepped(support, 1024);
  assertEquals([whole.dispatches, cut.dispatches], [1, 6]);
  assertEquals(cut.parameters, whole.parameters);
  assertEquals(cut.first, whole.first);
  assertEquals(cut.second, whole.second);
  assertEquals(cut.gradients, new Float32Array(length));
  const expected = wave(2).reduce((sum, value) => sum + value * value, 0);
  assertAlmostEquals(whole.squareSum, expected, 1e-3);
  assertAlmostEquals(cut.squareSum, expected, 1e-3);
});
