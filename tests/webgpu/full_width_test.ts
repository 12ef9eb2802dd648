/**
 * The largest matrices of the large sizes, at their full width: as many rows of a weight as one binding of the least adapter
 * holds, with all columns of what they multiply and of the matrix that they write into. Sampled results against float64.
 */

import { assert, assertEquals } from "@std/assert";
import { resolveConfig } from "../../core/settings/parse.ts";
import type { SizeName } from "../../core/config/size.ts";
import { CpuMemory } from "../../gpu/cpu/layout/memory.ts";
import { CpuOps } from "../../gpu/cpu/ops.ts";
import { Team } from "../../gpu/cpu/threads/team.ts";
import type { CpuDispatch } from "../../gpu/cpu/cpu_dispatch.ts";
import type { BufferRange, DeviceBuffers, Dispatch, LinearSizes, StageOps } from "../../gpu/stage_ops.ts";
import { StageBuffers } from "../../gpu/webgpu/buffers.ts";
import { kernelsFor, Ops } from "../../gpu/webgpu/ops.ts";
import { gpuTest } from "../support/gpu_adapter.ts";
import { isWhole } from "../support/whole.ts";

const bindingBytes = 128 << 20; // what every adapter binds
const rows = 4;
const samples = 64;

interface Device {
  readonly ops: StageOps;
  readonly buffers: DeviceBuffers;
  result(program: readonly Dispatch[], range: BufferRange, count: number): Promise<Float32Array>;
}

interface WideCase extends LinearSizes {
  readonly name: string;
}

/** The widest product of a size, which makes the logits; of the largest size those of the feed-forward layer too. */
function widest(size: SizeName): WideCase[] {
  const resolved = resolveConfig({ size, overrides: {} });
  if (!resolved.ok) throw new Error(`size ${size} must be a configuration`);
  const { width, ffnWidth, vocabSize } = resolved.config.model;
  const part = (name: string, inWidth: number, outStride: number): WideCase => {
    const most = Math.floor(bindingBytes / (4 * inWidth));
    return { name: `${size}, ${name}`, rows, inWidth, outWidth: Math.min(most - most % 4, outStride), outStride };
  };
  const logits = part("logits", width, vocabSize);
  return size === "15b" ? [part("gate and up", width, 2 * ffnWidth), part("down", ffnWidth, width), logits] : [logits];
}

/** Between -0.5 and 0.5, and different wherever an address is wrong. */
const valueAt = (i: number): number => (Math.imul(i + 1, 0x9e3779b1) >>> 8) / 2 ** 24 - 0.5;
const all = new Float32Array(bindingBytes / 4);
for (let i = 0; i < all.length; i++) all[i] = valueAt(i);

/** Places in a result of so many values, the last one among them. */
const sampled = (count: number): number[] =>
  Array.from({ length: samples }, (_, i) => i === 0 ? count - 1 : (i * 7_654_321) % count);

interface Wide {
  readonly input: BufferRange; // (rows, in)
  readonly weight: BufferRange; // (out, in)
  readonly output: BufferRange; // (rows, stride)
}

function placed({ buffers }: Device, { inWidth, outWidth, outStride = outWidth }: WideCase): Wide {
  const load = (label: string, count: number) => {
    const range = buffers.storage(label, count);
    buffers.upload(range, all.subarray(0, count));
    return range;
  };
  return {
    input: load("x", rows * inWidth),
    weight: load("w", outWidth * inWidth),
    output: load("y", rows * outStride),
  };
}

interface Sum {
  readonly value: number;
  readonly size: number; // of its terms
  readonly count: number;
}

function sum(count: number, term: (k: number) => number): Sum {
  let value = 0;
  let size = 0;
  for (let k = 0; k < count; k++) {
    value += term(k);
    size += Math.abs(term(k));
  }
  return { value, size, count };
}

/** Within twice what the roundings of a chain of so many terms usually add up to. */
function assertNear(what: string, found: number, { value, size, count }: Sum): void {
  const error = Math.abs(found - value) / size;
  assert(error < 2 ** -23 * Math.sqrt(count), `${what} is ${found} instead of ${value}: off by ${error} of its terms`);
}

async function checkWide(device: Device, test: WideCase): Promise<void> {
  const { inWidth, outWidth, outStride = outWidth } = test;
  const { input, weight, output } = placed(device, test);
  const [x, w] = [valueAt, valueAt];
  const dy = (n: number, o: number) => valueAt(n * outStride + o); // what y held
  const inputGradient = device.buffers.storage("dx", rows * inWidth);
  const back = device.ops.linearInputGradient(test, { outputGradient: output, weight, inputGradient });
  const dx = await device.result([back], inputGradient, rows * inWidth);
  for (const at of sampled(rows * inWidth)) {
    const [n, i] = [Math.floor(at / inWidth), at % inWidth];
    assertNear(`${test.name}: dx ${at}`, dx[at]!, sum(outWidth, (o) => dy(n, o) * w(o * inWidth + i)));
  }
  const weightGradient = device.buffers.storage("dw", outWidth * inWidth);
  const gradient = device.ops.linearWeightGradient(test, { outputGradient: output, input, weightGradient });
  const dw = await device.result([gradient], weightGradient, outWidth * inWidth);
  for (const at of sampled(outWidth * inWidth)) {
    const [o, i] = [Math.floor(at / inWidth), at % inWidth];
    assertNear(`${test.name}: dW ${at}`, dw[at]!, sum(rows, (n) => dy(n, o) * x(n * inWidth + i)));
  }
  const forward = device.ops.linear(test, { input, weight, output });
  const y = await device.result([forward], output, rows * outStride);
  for (const at of sampled(rows * outWidth)) {
    const [n, o] = [Math.floor(at / outWidth), at % outWidth];
    const found = y[n * outStride + o]!;
    assertNear(`${test.name}: y ${at}`, found, sum(inWidth, (k) => x(n * inWidth + k) * w(o * inWidth + k)));
  }
  if (outStride > outWidth) assertEquals(y[outWidth], Math.fround(valueAt(outWidth)), "other columns stay");
}

const large: readonly SizeName[] = isWhole ? ["1b", "3b", "8b", "15b"] : ["1b"];

for (const size of large) {
  Deno.test(`Full width: the widest products of ${size} on the processor`, async () => {
    for (const test of widest(size)) {
      const buffers = new CpuMemory();
      const ops = new CpuOps(buffers, new Team(buffers));
      const result = (program: readonly Dispatch[], range: BufferRange, count: number) => {
        for (const { run } of program as readonly CpuDispatch[]) run();
        return Promise.resolve(buffers.floats(range).slice(0, count));
      };
      await checkWide({ ops, buffers, result }, test);
    }
  });

  gpuTest(`Full width: the widest products of ${size} on the adapter`, async ({ gpu, kernels }) => {
    for (const test of widest(size)) {
      const buffers = new StageBuffers(gpu);
      buffers.reserveStaging(4 << 20);
      const result = (program: readonly Dispatch[], range: BufferRange, count: number) => {
        kernels.run(program);
        return buffers.readFloats(range, count);
      };
      try {
        await checkWide({ ops: new Ops(kernels, kernelsFor(gpu)), buffers, result }, test);
      } finally {
        buffers.destroy();
      }
    }
  });
}
