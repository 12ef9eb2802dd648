/** The speed of a GPU's products and attention. Its buffers are gone when it returns. */

import { type AttentionRequest, measureAttention } from "../speed/attention_speed.ts";
import type { BatchSpeed, Repeated } from "../speed/batch_speed.ts";
import { type GemmRequest, type GemmSpeed, measureGemm } from "../speed/gemm_speed.ts";
import type { KernelPlace } from "../speed/kernel_place.ts";
import type { Dispatch } from "../stage_ops.ts";
import { gpuBuffer, StageBuffers } from "./buffers.ts";
import type { GpuDevice } from "./device.ts";
import { type GpuDispatch, Kernels } from "./kernel.ts";
import { type KernelSettings, Ops } from "./ops.ts";
import { type AdapterSpeed, measureAdapterSpeed } from "../speed/adapter_speed.ts";

const softwareWidth = 512; // one product takes llvmpipe some 10 ms
const hardwareWidth = 2048; // fills the largest GPUs; three matrices take 48 MiB

interface GpuWithSettings {
  readonly gpu: GpuDevice;
  readonly settings: KernelSettings;
}

export function measureGpuGemm(
  { gpu, settings }: GpuWithSettings,
  { budgetMs, task }: GemmRequest,
): Promise<GemmSpeed> {
  const width = gpu.adapter.isSoftware ? softwareWidth : hardwareWidth;
  const square = { kind: "forward", rows: width, inWidth: width, outWidth: width } as const;
  return onPlace({ gpu, settings }, (place) => measureGemm(place, { task: task ?? square, budgetMs }));
}

export function measureGpuAttention(on: GpuWithSettings, request: AttentionRequest): Promise<BatchSpeed> {
  return onPlace(on, (place) => measureAttention(place, request));
}

async function onPlace<T>(
  { gpu, settings }: GpuWithSettings,
  measure: (place: KernelPlace) => Promise<T>,
): Promise<T> {
  const kernels = new Kernels(gpu);
  const buffers = new StageBuffers(gpu);
  try {
    return await measure({
      ops: new Ops(kernels, settings),
      buffers,
      warmUp: () => kernels.warmUp(),
      run: async (program: readonly Dispatch[], times: number) => {
        kernels.run(Array.from({ length: times }, () => program).flat());
        await buffers.settle();
      },
    });
  } finally {
    buffers.destroy();
  }
}

/** An adapter's peak (../speed/adapter_speed.ts). */
const chains = 12; // independent sums: the eight-lane registers of a software adapter
const unrolled = 16;
const softwareRounds = 64;
const hardwareRounds = 256; // a dispatch takes much longer than its start
const workgroupSize = 64;
const softwareWorkgroups = 64;
const hardwareWorkgroups = 8192; // fills the largest GPUs
const copiedBytes = 64 << 20; // beyond a core's caches
const uploadedBytes = 16 << 20; // a wire's size

/**
 * sum * factor + addend, with operands unknown to the compiler. An H200 adds to vectors at 0.7 of the rate
 * (tests/lab/LOG.md).
 */
function peakSource(rounds: number): string {
  const names = Array.from({ length: chains }, (_, i) => `sum${i}`);
  const line = names.map((name) => `${name} = fma(${name}, factor, addend);`).join(" ");
  return `@group(0) @binding(0) var<storage, read_write> values: array<f32>;
@compute @workgroup_size(${workgroupSize}) fn main(@builtin(global_invocation_id) id: vec3u) {
  let factor = values[0];
  let addend = values[1];
  ${names.map((name, i) => `var ${name} = values[id.x + ${i}u];`).join("\n  ")}
  for (var i = 0u; i < ${rounds}u; i++) {
    ${Array.from({ length: unrolled }, () => line).join("\n    ")}
  }
  values[id.x] = ${names.join(" + ")};
}`;
}

export async function measureGpuAdapter(gpu: GpuDevice, budgetMs: number): Promise<AdapterSpeed> {
  const { device, adapter } = gpu;
  const kernels = new Kernels(gpu);
  const buffers = new StageBuffers(gpu);
  try {
    const invocations = workgroupSize * (adapter.isSoftware ? softwareWorkgroups : hardwareWorkgroups);
    const values = buffers.storage("values", invocations + chains);
    const rounds = adapter.isSoftware ? softwareRounds : hardwareRounds;
    const kernel = { label: "multiply-adds", source: peakSource(rounds) };
    const dispatch = (workgroups: number) => kernels.dispatch({ kernel, bindings: [values], workgroups: [workgroups] });
    const [whole, single] = [dispatch(invocations / workgroupSize), dispatch(1)];
    await kernels.warmUp();
    const flops = 2 * chains * unrolled * rounds * invocations;
    const run = (program: (times: number) => GpuDispatch[]) => async (times: number) => {
      kernels.run(program(times));
      await buffers.settle();
    };
    const repeated = (one: GpuDispatch) => run((times) => Array.from({ length: times }, () => one));
    return await measureAdapterSpeed({
      multiplyAdds: { units: flops, run: repeated(whole) },
      dispatches: { units: 1, run: repeated(single) },
      roundTrips: {
        units: 1,
        run: async (times) => {
          for (let i = 0; i < times; i++) await repeated(single)(1);
        },
      },
      ...transfers({ device, buffers }),
    }, budgetMs);
  } finally {
    buffers.destroy();
  }
}

interface Place {
  readonly device: GPUDevice;
  readonly buffers: StageBuffers;
}

function transfers({ device, buffers }: Place): Record<"copy" | "upload" | "readBack", Repeated> {
  const bytes = Math.min(copiedBytes, Math.floor(buffers.largestBytes / 256) * 256);
  const [from, to] = [buffers.storage("from", bytes / 4), buffers.storage("to", bytes / 4)];
  const moved = Math.min(uploadedBytes, bytes);
  const data = new Uint8Array(moved).fill(1);
  buffers.reserveStaging(moved);
  const copy = async (times: number) => {
    const encoder = device.createCommandEncoder();
    for (let i = 0; i < times; i++) encoder.copyBufferToBuffer(gpuBuffer(from), 0, gpuBuffer(to), 0, bytes);
    device.queue.submit([encoder.finish()]);
    await buffers.settle();
  };
  const upload = async (times: number) => {
    for (let i = 0; i < times; i++) buffers.upload(from, data);
    await buffers.settle();
  };
  const readBack = async (times: number) => {
    const range = { ...from, size: moved };
    for (let i = 0; i < times; i++) await buffers.submitAndRead(device.createCommandEncoder(), [range]);
  };
  return {
    copy: { units: 2 * bytes, run: copy },
    upload: { units: moved, run: upload },
    readBack: { units: moved, run: readBack },
  };
}
