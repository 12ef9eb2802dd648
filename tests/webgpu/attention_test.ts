/** The attention kernels of both families against the float64 reference: lengths that fill no tile, grouped queries. */

import { assert, assertEquals } from "@std/assert";
import { attention as plain, attentionBackward as plainBackward } from "../lab/reference/attention.ts";
import { type AttentionSizes, qkvWidth } from "../../gpu/attention_sizes.ts";
import { attention, attentionBackward, type AttentionSettings } from "../../gpu/webgpu/attention_ops.ts";
import { StageBuffers } from "../../gpu/webgpu/buffers.ts";
import { hardwareKernels, softwareKernels } from "../../gpu/webgpu/ops.ts";
import { type GpuSupport, gpuTest } from "../support/gpu_adapter.ts";
import { isWhole } from "../support/whole.ts";

const cases: readonly AttentionSizes[] = [
  { sequences: 2, length: 5, heads: 2, kvHeads: 2, headWidth: 16 },
  { sequences: 1, length: 77, heads: 4, kvHeads: 1, headWidth: 20 },
  { sequences: 1, length: 130, heads: 2, kvHeads: 1, headWidth: 64 },
  { sequences: 1, length: 40, heads: 1, kvHeads: 1, headWidth: 128 },
];
const manySequences: AttentionSizes = { sequences: 260, length: 3, heads: 2, kvHeads: 1, headWidth: 8 }; // fills a device

interface Computed {
  readonly output: Float32Array;
  readonly logSumExp: Float32Array;
  readonly qkvGradient: Float32Array;
}

const wave = (count: number, step: number) =>
  Float32Array.from({ length: count }, (_, i) => 2 * Math.sin(1 + i * step));

const operandsOf = (sizes: AttentionSizes) => {
  const rows = sizes.sequences * sizes.length;
  return {
    qkv: wave(rows * qkvWidth(sizes), 0.7310585),
    outputGradient: wave(rows * sizes.heads * sizes.headWidth, 0.3172),
  };
};

async function computed(
  { gpu, kernels }: GpuSupport,
  { sizes, settings }: { sizes: AttentionSizes; settings: AttentionSettings },
): Promise<Computed> {
  const buffers = new StageBuffers(gpu);
  buffers.reserveStaging(1 << 20);
  const { qkv, outputGradient } = operandsOf(sizes);
  const rows = sizes.sequences * sizes.length;
  const tensors = {
    qkv: buffers.storage("qkv", qkv.length),
    output: buffers.storage("output", outputGradient.length),
    logSumExp: buffers.storage("log-sum-exp", rows * sizes.heads),
    outputGradient: buffers.storage("output gradient", outputGradient.length),
    delta: buffers.storage("delta", rows * sizes.heads),
    qkvGradient: buffers.storage("qkv gradient", qkv.length),
  };
  try {
    buffers.upload(tensors.qkv, qkv);
    buffers.upload(tensors.outputGradient, outputGradient);
    const on = { kernels, settings };
    const program = [attention(on, sizes, tensors), ...attentionBackward(on, sizes, tensors)];
    await kernels.warmUp();
    kernels.run(program);
    return {
      output: await buffers.readFloats(tensors.output, outputGradient.length),
      logSumExp: await buffers.readFloats(tensors.logSumExp, rows * sizes.heads),
      qkvGradient: await buffers.readFloats(tensors.qkvGradient, qkv.length),
    };
  } finally {
    buffers.destroy();
  }
}

/** The reference keeps q, k and v apart. */
function expected(sizes: AttentionSizes): { output: Float64Array; qkvGradient: Float64Array } {
  const { sequences, length: positions, heads, kvHeads, headWidth } = sizes;
  const { qkv, outputGradient } = operandsOf(sizes);
  const width = qkvWidth(sizes);
  const columns = (first: number, count: number) =>
    Float64Array.from(
      { length: sequences * positions * count },
      (_, i) => qkv[Math.floor(i / count) * width + first + i % count]!,
    );
  const [ofHeads, ofKeys] = [heads * headWidth, kvHeads * headWidth];
  const operands = {
    q: columns(0, ofHeads),
    k: columns(ofHeads, ofKeys),
    v: columns(ofHeads + ofKeys, ofKeys),
  };
  const shape = { sequences, positions, heads, kvHeads, headWidth };
  const { out, probabilities } = plain(operands, shape);
  const gradient = plainBackward({ ...operands, probabilities, dOut: Float64Array.from(outputGradient) }, shape);
  const qkvGradient = Float64Array.from({ length: qkv.length }, (_, i) => {
    const [row, column] = [Math.floor(i / width), i % width];
    if (column < ofHeads) return gradient.dq[row * ofHeads + column]!;
    if (column < ofHeads + ofKeys) return gradient.dk[row * ofKeys + column - ofHeads]!;
    return gradient.dv[row * ofKeys + column - ofHeads - ofKeys]!;
  });
  return { output: out, qkvGradient };
}

function relativeError(got: Float32Array, want: Float64Array): number {
  assertEquals(got.length, want.length);
  let [error, size] = [0, 0];
  want.forEach((value, i) => {
    error += (got[i]! - value) ** 2;
    size += value ** 2;
  });
  return Math.sqrt(error / size); // NaN if any value is
}

const families = { direct: softwareKernels.attention, tiled: hardwareKernels.attention };

for (const [family, settings] of Object.entries(families)) {
  gpuTest(`Attention: the ${family} kernels agree with the reference on lengths that fill no tile`, async (support) => {
    for (const sizes of isWhole ? [...cases, manySequences] : cases.slice(0, 2)) {
      const want = expected(sizes);
      const got = await computed(support, { sizes, settings });
      for (
        const [name, error] of [
          ["output", relativeError(got.output, want.output)],
          ["gradient", relativeError(got.qkvGradient, want.qkvGradient)],
        ] as const
      ) assert(error < 2e-6, `${name} of ${JSON.stringify(sizes)} is off by ${error}`);
    }
  });
}

gpuTest("Attention: how many rows a workgroup has changes no bit", async (support) => {
  const one: AttentionSizes = { sequences: 1, length: 70, heads: 2, kvHeads: 1, headWidth: 16 };
  const many = { ...one, sequences: 256 }; // enough for the larger workgroups; each sequence has operands of its own
  const settings = hardwareKernels.attention;
  const alone = await computed(support, { sizes: one, settings });
  const together = await computed(support, { sizes: many, settings });
  assertEquals(together.output.subarray(0, alone.output.length), alone.output);
  assertEquals(together.qkvGradient.subarray(0, alone.qkvGradient.length), alone.qkvGradient);
  assertEquals(together.logSumExp.subarray(0, alone.logSumExp.length), alone.logSumExp);
});
