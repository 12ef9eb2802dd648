/**
 * AdamW and the gradient norm when the parameters do not fit one storage binding: cutting the vector into ranges changes no
 * bit of the step and leaves no element of the norm out.
 */

import { assertAlmostEquals, assertEquals } from "@std/assert";
import { adamw } from "../../core/train/adamw.ts";
import { stateLength, type VectorRange } from "../../core/train/optimizer.ts";
import { StageBuffers } from "../../gpu/webgpu/buffers.ts";
import { Ops, softwareKernels } from "../../gpu/webgpu/ops.ts";
import { buildAdamw, buildGradientNorm } from "../../gpu/webgpu/optimizers/updates.ts";
import { type DeviceVector, storeVectors } from "../../gpu/device_vector.ts";
import { type GpuSupport, gpuTest } from "../support/gpu_adapter.ts";

const length = 5 * 256 + 64; // five whole ranges of 1024 bytes and a rest
const decayLength = 3 * 256 + 128; // ends inside the fourth
const hyper = { learningRate: 0.1, gradientScale: 0.5, beta1: 0.9, beta2: 0.95, epsilon: 1e-8, weightDecay: 0.1 };
const wave = (seed: number) => Float32Array.from({ length }, (_, i) => Math.sin(seed + i));

async function stepped({ gpu, kernels }: GpuSupport, bindingBytes: number, covers?: readonly VectorRange[]) {
  const buffers = new StageBuffers(gpu);
  buffers.reserveStaging(1 << 17);
  const table = { tensors: [], length, decayLength };
  const kept = adamw.stateVectors(table).map((vector) => ({ ...vector, covers: covers ?? vector.covers }));
  const vectors = storeVectors(buffers, { table, state: kept });
  const packed = stateLength(kept[0]!);
  const whole = (vector: DeviceVector) => vector.part({ offset: 0, size: vector.length });
  const [parameters, gradients] = [whole(vectors.parameters), whole(vectors.gradients)];
  const stateOf = (name: string) => whole(vectors.state.get(name)!.vector);
  const [first, second] = [stateOf("firstMoments"), stateOf("secondMoments")];
  const parts = { ops: new Ops(kernels, softwareKernels), buffers, table, vectors, bindingBytes };
  const [update, norm] = [buildAdamw(parts), buildGradientNorm(parts)];
  await kernels.warmUp();
  buffers.upload(parameters, wave(1));
  buffers.upload(gradients, wave(2));
  buffers.upload(first, wave(3).subarray(0, packed));
  buffers.upload(second, wave(4).map(Math.abs).subarray(0, packed));
  for (const { range, values } of update.uploads(hyper, 3)) buffers.upload(range, values);
  kernels.run(norm.dispatches);
  const partial = await buffers.readFloats(norm.partialSums, norm.partialSums.size / 4);
  kernels.run(update.dispatches);
  const result = {
    parameters: await buffers.readFloats(parameters, length),
    gradients: await buffers.readFloats(gradients, length),
    first: await buffers.readFloats(first, packed),
    second: await buffers.readFloats(second, packed),
  };
  buffers.destroy();
  return { ...result, dispatches: update.dispatches.length, squareSum: partial.reduce((a, b) => a + b, 0) };
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

gpuTest(
  "Optimizer: state that covers ranges is packed, steps as one of the whole does, and leaves the rest alone",
  async (support) => {
    const covers = [{ offset: 0, size: 128 }, { offset: 640, size: 384 }]; // the second one crosses the end of decay
    const whole = await stepped(support, 1 << 20, [{ offset: 0, size: 128 }]);
    const ranges = await stepped(support, 1024, covers);
    assertEquals(ranges.parameters.subarray(0, 128), whole.parameters.subarray(0, 128));
    assertEquals(ranges.first.subarray(0, 128), whole.first);
    assertEquals([ranges.first.length, ranges.dispatches], [512, 3]);
    const isCovered = (i: number) => covers.some(({ offset, size }) => i >= offset && i < offset + size);
    const [parameters, gradients] = [wave(1), wave(2)];
    for (let i = 0; i < length; i++) {
      assertEquals(ranges.parameters[i] === parameters[i], !isCovered(i), `parameter ${i}`);
      assertEquals(ranges.gradients[i], isCovered(i) ? 0 : gradients[i], `gradient ${i}`);
    }
  },
);
