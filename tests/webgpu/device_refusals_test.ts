/** Devices that refuse or lie: a stage that is not given its memory fails alone, and says how much it wanted. */

import { assertEquals, assertMatch, assertRejects, assertStringIncludes } from "@std/assert";
import { BuildScope } from "../../gpu/webgpu/stage/webgpu_stage.ts";
import { DeviceLostError, GpuDevice, GpuFailure, NoAdapterError, openGpuDevice } from "../../gpu/webgpu/device.ts";
import { Kernels } from "../../gpu/webgpu/kernel.ts";
import { createWebGpuStage } from "../../gpu/webgpu/stage/webgpu_stage.ts";
import { isTooLarge, openComputeWorker } from "../../gpu/worker_client.ts";
import { gpuTest } from "../support/gpu_adapter.ts";
import { parametersOf, specAt, specsOf, tinyConfig, tokensOf } from "../support/tiny_model.ts";

const spec = specAt(specsOf(tinyConfig({ pipeline: { stages: 1 } })), 0);

/** Makes the device give no buffer larger than this, whatever its limits say. Returns a function that ends it. */
function giveAtMost({ device }: GpuDevice, bytes: number): () => void {
  const create = device.createBuffer.bind(device);
  const push = device.pushErrorScope.bind(device);
  const pop = device.popErrorScope.bind(device);
  const scopes: { filter: GPUErrorFilter; error: GPUError | null }[] = [];
  device.createBuffer = (descriptor) => {
    if (descriptor.size <= bytes) return create(descriptor);
    const scope = scopes.findLast(({ filter }) => filter === "out-of-memory");
    if (scope !== undefined) scope.error ??= new GPUOutOfMemoryError("not enough memory left");
    return create({ ...descriptor, usage: 0 }); // an error buffer, as a driver's would be
  };
  device.pushErrorScope = (filter) => {
    scopes.push({ filter, error: null });
    push(filter);
  };
  device.popErrorScope = async () => {
    const own = scopes.pop()?.error ?? null;
    const real = await pop();
    return own ?? real;
  };
  return () => Object.assign(device, { createBuffer: create, pushErrorScope: push, popErrorScope: pop });
}

// The real devices come first: a process that ends right after its driver was torn down may crash there.

gpuTest("Refusals: a driver that gives less than its limits promise fails the stage alone, with numbers", async () => {
  const gpu = await openGpuDevice();
  const kernels = new Kernels(gpu);
  const end = giveAtMost(gpu, 100_000);
  const error = await assertRejects(() => createWebGpuStage(gpu, spec, { kernels }));
  assertEquals(isTooLarge(error), true);
  assertMatch(
    (error as Error).message,
    /ran out of memory \(not enough memory left\) before it gave the \d+ MiB that the stage takes, although each buffer may have \d+ MiB/,
  );
  end();
  const stage = await createWebGpuStage(gpu, spec, { kernels }); // the device is whole
  await stage.loadParameters(parametersOf(spec));
  const { tokens, targets } = tokensOf(spec);
  assertEquals((await stage.evaluate({ type: "tokens", tokens }, targets)).length, spec.sequences);
  stage.close();
  gpu.close();
});

gpuTest("Refusals: a buffer as large as the adapter allows is given, or refused as memory without harm", async () => {
  const gpu = await openGpuDevice();
  const building = new BuildScope(gpu.device);
  const buffer = gpu.device.createBuffer({
    size: gpu.device.limits.maxBufferSize - gpu.device.limits.maxBufferSize % 4,
    usage: GPUBufferUsage.STORAGE,
  });
  const error = await building.end();
  assertEquals(error === null || error instanceof GPUOutOfMemoryError, true, error?.message ?? "");
  gpu.throwIfFailed();
  buffer.destroy();
  gpu.close();
});

Deno.test("Refusals: memory that runs out in a task, and a driver that fails, mean a lost device; a wrong command does not", () => {
  const failureAfter = (error: GPUError): GpuFailure | null => {
    const device = Object.assign(new EventTarget(), { lost: new Promise<never>(() => {}) });
    let failure: GpuFailure | null = null;
    new GpuDevice(device as unknown as GPUDevice, {
      adapter: { device: "webgpu", name: "fake", isSoftware: true },
      features: [],
      onFailure: (told) => failure = told,
    });
    device.dispatchEvent(Object.assign(new Event("uncapturederror", { cancelable: true }), { error }));
    return failure;
  };
  const memory = failureAfter(new GPUOutOfMemoryError("no 3 GiB"));
  assertEquals([memory?.name, memory?.message.includes("memory ran out: no 3 GiB")], [DeviceLostError.name, true]);
  assertEquals(failureAfter(new GPUInternalError("hung"))?.name, DeviceLostError.name);
  assertEquals(failureAfter(new GPUValidationError("too wide"))?.name, GpuFailure.name);
});

Deno.test("Refusals: a driver that refuses its own limits is named, with its reason", async () => {
  const adapter = {
    info: { description: "Liar 3000", isFallbackAdapter: false },
    limits: {},
    features: new Set(),
    requestDevice: () => Promise.reject(new DOMException("limits too high", "OperationError")),
  } as unknown as GPUAdapter;
  const gpu = { requestAdapter: () => Promise.resolve(adapter) };
  const error = await assertRejects(() => openGpuDevice({ gpu }), NoAdapterError);
  assertStringIncludes(error.message, "Cannot open Liar 3000: its driver gives no device");
  assertStringIncludes(error.message, "limits too high");
});

Deno.test("Refusals: a stage that cannot fit --memory is refused with both numbers before anything is allocated", async () => {
  const worker = await openComputeWorker({ device: "cpu" });
  const error = await assertRejects(() => worker.openStage(spec, { memoryBytes: 1_000_000 }));
  assertEquals(isTooLarge(error), true);
  assertMatch(
    (error as Error).message,
    /it takes \d+ MiB, even if activations are computed again, and 1 MiB are allowed/,
  );
  const stage = await worker.openStage(spec, { memoryBytes: 100_000_000 });
  stage.close();
  worker.close();
});
