/** Whether a stage fits an adapter, and how fast the adapter multiplies: the paper device against the real one. */

import { assert, assertEquals, assertInstanceOf, assertStringIncludes } from "@std/assert";
import { resolveConfig } from "../../core/settings/parse.ts";
import { parameterTable, type StageSpec, stageSpecs } from "../../core/model/spec.ts";
import { splitLayers } from "../../core/model/stages.ts";
import { muonMatrices } from "../../core/train/muon.ts";
import { type DeviceLimits, GpuDevice } from "../../gpu/webgpu/device.ts";
import { kernelsFor } from "../../gpu/webgpu/ops.ts";
import { measureGpuGemm } from "../../gpu/webgpu/gpu_speed.ts";
import { createWebGpuStage } from "../../gpu/webgpu/stage/webgpu_stage.ts";
import { fitStage } from "../../gpu/stage_fit.ts";
import { TooLargeError } from "../../gpu/fit/too_large.ts";
import { openComputeWorker } from "../../gpu/worker_client.ts";
import { gpuTest } from "../support/gpu_adapter.ts";

const gibibyte = 2 ** 30;
const roomy: DeviceLimits = {
  ...{ maxBufferSize: 64 * gibibyte, maxStorageBufferBindingSize: 64 * gibibyte },
  ...{ maxComputeWorkgroupsPerDimension: 65_535, maxComputeInvocationsPerWorkgroup: 256 },
  maxComputeWorkgroupStorageSize: 16_384,
};

function stagesOf(size: string, overrides: Record<string, number> = {}): StageSpec[] {
  const resolved = resolveConfig({ size, overrides });
  assert(resolved.ok);
  return stageSpecs(resolved.config, splitLayers(resolved.config));
}

Deno.test("Stage fit: a size of billions is judged without a device, and takes the bytes its parameters ask for", async () => {
  for (const spec of stagesOf("1b")) {
    const { bytes, problem } = await fitStage(spec, { limits: roomy, isSoftware: false });
    assertEquals(problem, null);
    assert(bytes > 8 * gibibyte && bytes < 24 * gibibyte, `stage ${spec.index}: ${bytes}`);
  }
});

Deno.test("Stage fit: a stage whose activations or parameters are too large is refused with their names and sizes", async () => {
  const tail = stagesOf("100m", { "train.sequencesPerMicrobatch": 48 }).at(-1)!;
  const narrow = { ...roomy, maxStorageBufferBindingSize: 128 * 2 ** 20 };
  const { problem } = await fitStage(tail, { limits: narrow, isSoftware: true });
  assertInstanceOf(problem, TooLargeError);
  const { label, bytes, limitBytes } = problem;
  assertEquals([label, bytes, limitBytes], ["layer 8 decoded wire", 144 * 2 ** 20, 128 * 2 ** 20]);
  for (const spec of stagesOf("100m")) {
    const fit = await fitStage(spec, { limits: narrow, isSoftware: true });
    assertEquals(fit.problem, null, "its logits come in parts");
  }
  const small = { ...roomy, maxBufferSize: gibibyte };
  assertEquals((await fitStage(stagesOf("3b")[0]!, { limits: small, isSoftware: false })).problem, null, "in parts");
  const inParts = { optimizer: "muon", partBytes: 64 * 2 ** 20 } as const;
  const muon = await fitStage(stagesOf("3b")[1]!, { limits: roomy, isSoftware: false }, inParts);
  assertStringIncludes(muon.problem?.message ?? "", "with Muon, where a matrix is one buffer, as it must be at most");
});

Deno.test("Stage fit: Muon keeps one vector where AdamW keeps two, on a GPU and on the processor", async () => {
  const [spec] = stagesOf("small");
  for (const adapter of ["cpu", { limits: roomy, isSoftware: true }] as const) {
    const [adamw, muon] = [await fitStage(spec!, adapter), await fitStage(spec!, adapter, { optimizer: "muon" })];
    const saved = 4 * muonMatrices(parameterTable(spec!)).reduce((sum, { size }) => sum + size, 0);
    const { width, ffnWidth } = spec!.model;
    const scratch = 4 * (2 * width * ffnWidth + 4 * width ** 2);
    assertEquals([adamw.problem, muon.problem], [null, null]);
    const more = muon.bytes - (adamw.bytes - saved + scratch);
    assert(Math.abs(more) < 1024, `${more} bytes more than computed`);
  }
});

gpuTest("Stage fit: paper asks for the bytes that the real device is asked for", async ({ gpu }) => {
  for (const spec of stagesOf("toy")) {
    let bytes = 0;
    const device = new Proxy(gpu.device, {
      get(target, name) {
        if (name === "createBuffer") {
          return (descriptor: GPUBufferDescriptor) => {
            bytes += descriptor.size;
            return target.createBuffer(descriptor);
          };
        }
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
    const counting = new GpuDevice(device, { adapter: gpu.adapter, features: [] });
    const stage = await createWebGpuStage(counting, spec);
    stage.close();
    const { limits } = gpu.facts();
    const fit = await fitStage(spec, { limits, isSoftware: gpu.adapter.isSoftware });
    assertEquals([fit.problem, fit.bytes], [null, bytes], `stage ${spec.index}`);
  }
});

gpuTest("Gemm speed: a short budget gives a rate of the whole product", async ({ gpu }) => {
  const { flopsPerSecond, width, measuredMs } = await measureGpuGemm({ gpu, settings: kernelsFor(gpu) }, {
    budgetMs: 50,
  });
  assert(flopsPerSecond > 0 && Number.isFinite(flopsPerSecond));
  assert(flopsPerSecond * measuredMs / 1000 >= 2 * width ** 3 * 0.99, "at least one whole product was measured");
});

gpuTest("Compute worker: it reports its device's features, and multiplies there", async () => {
  const worker = await openComputeWorker({ device: "webgpu" });
  const facts = await worker.inspect();
  assert(
    facts !== null && facts.limits.maxBufferSize >= 2 ** 28 && facts.limits.maxComputeInvocationsPerWorkgroup >= 64,
  );
  assert((await worker.measureGemm({ budgetMs: 50 }))!.flopsPerSecond > 0);
  worker.close();
});
