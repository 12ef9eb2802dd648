/** What a person reads when the GPU, or our shader, is at fault. */

import { assertEquals, assertInstanceOf, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import { gpuBuffer, StageBuffers } from "../../gpu/webgpu/buffers.ts";
import { GpuFailure, NoAdapterError, openGpuDevice, type OpenGpuOptions } from "../../gpu/webgpu/device.ts";
import { floatBits, Kernels, ShaderError } from "../../gpu/webgpu/kernel.ts";
import { gpuTest } from "../support/gpu_adapter.ts";

Deno.test("GpuDevice: without the wanted kind of adapter the error says what there is instead", async () => {
  const messageOf = async (options: OpenGpuOptions) =>
    (await assertRejects(() => openGpuDevice(options), NoAdapterError)).message;
  const none = { requestAdapter: () => Promise.resolve(null) };
  assertStringIncludes(await messageOf({ gpu: none }), "offers no Vulkan, Metal or DX12 device");
  assertStringIncludes(await messageOf({ gpu: none, kind: "hardware" }), "offers no Vulkan");
  assertStringIncludes(
    await messageOf({ gpu: none, kind: "software" }),
    "Cannot open a software driver: none is",
  );
  const info = { description: "llvmpipe", isFallbackAdapter: true } as GPUAdapterInfo;
  const software = { requestAdapter: () => Promise.resolve({ info } as GPUAdapter) };
  assertStringIncludes(
    await messageOf({ gpu: software, kind: "hardware" }),
    "only llvmpipe was found, a software driver",
  );
});

Deno.test("Kernels: a float constant travels as its bit pattern", () => {
  assertEquals(floatBits(1), 0x3f800000);
  assertEquals(floatBits(-2), 0xc0000000);
});

gpuTest("Kernels: a broken shader is shown with its line numbers", async () => {
  const gpu = await openGpuDevice();
  const kernels = new Kernels(gpu);
  const buffers = new StageBuffers(gpu);
  const source = "@group(0) @binding(0) var<storage, read_write> out: array<f32>;\n" +
    "@compute @workgroup_size(1)\nfn main() { out[0] = missing; }";
  kernels.dispatch({ kernel: { label: "broken", source }, bindings: [buffers.storage("out", 4)], workgroups: [1] });
  const error = await assertRejects(() => kernels.warmUp(), ShaderError);
  assertStringIncludes(error.message, "Cannot compile the shader 'broken'");
  assertStringIncludes(error.message, "missing");
  assertStringIncludes(error.message, "   3  fn main() { out[0] = missing; }");
  buffers.destroy();
  gpu.close();
});

gpuTest("GpuDevice: a rejected command fails every later call, with the driver's reason", async () => {
  const told: GpuFailure[] = [];
  const gpu = await openGpuDevice({ onFailure: (failure) => told.push(failure) });
  const buffers = new StageBuffers(gpu);
  const range = buffers.storage("small", 4);
  gpu.device.queue.writeBuffer(gpuBuffer(range), 0, new Uint8Array(64)); // past its end
  const error = await assertRejects(() => buffers.settle(), GpuFailure);
  assertStringIncludes(error.message, "the GPU rejected a command");
  assertThrows(() => gpu.throwIfFailed(), GpuFailure);
  assertEquals(told, [error]);
  assertInstanceOf(told[0], GpuFailure);
  buffers.destroy();
  gpu.close();
});

gpuTest("StageBuffers: a buffer beyond the adapter's limit is refused with the next step", ({ gpu }) => {
  const buffers = new StageBuffers(gpu);
  const error = assertThrows(() => buffers.storage("logits", gpu.device.limits.maxBufferSize), RangeError);
  assertStringIncludes(error.message, "Cannot allocate 'logits'");
  assertStringIncludes(error.message, "fewer sequences per microbatch");
  buffers.destroy();
  return Promise.resolve();
});
