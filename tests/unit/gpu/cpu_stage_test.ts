/** The processor's stage: equal bits at every run, memory counted beforehand, the device that `auto` takes. */

import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { bytesOfCpuStage, createCpuStage } from "../../../gpu/cpu/cpu_stage.ts";
import { CpuMemory, OutOfMemoryError } from "../../../gpu/cpu/layout/memory.ts";
import { resolveConfig } from "../../../core/settings/parse.ts";
import { stageSpecs } from "../../../core/model/spec.ts";
import { splitLayers } from "../../../core/model/stages.ts";
import { openComputeWorker } from "../../../gpu/worker_client.ts";
import { parametersOf, specAt, specsOf, tinyConfig, tokensOf } from "../../support/tiny_model.ts";

const wholeModel = () => specAt(specsOf(tinyConfig({ pipeline: { stages: 1 } }), [2]), 0);
const options = { learningRate: 1e-2, gradientScale: 1, beta1: 0.9, beta2: 0.95, epsilon: 1e-8, weightDecay: 0.1 };

async function trained(): Promise<Uint8Array> {
  const spec = wholeModel();
  const stage = await createCpuStage(spec);
  await stage.loadParameters(parametersOf(spec));
  const { tokens, targets } = tokensOf(spec);
  for (let step = 0; step < 5; step++) {
    await stage.turnaround({ type: "tokens", tokens }, targets);
    await stage.step(options);
  }
  return new Uint8Array(await crypto.subtle.digest("SHA-256", await stage.readParameters() as BufferSource));
}

Deno.test("CPU stage: five steps end in the same bits every time", async () => {
  assertEquals(await trained(), await trained());
});

Deno.test("CPU stage: what a stage takes is known before it is built", async () => {
  const spec = wholeModel();
  const bytes = await bytesOfCpuStage(spec);
  const memory = new CpuMemory();
  memory.storage("as much", bytes / 4);
  assert(bytes > 4 * 4 * parametersOf(spec).length, "parameters, gradients and two moments");
  await createCpuStage(spec);
});

Deno.test("CPU stage: one beyond 4 GiB is refused with what it has and what it asks for", async () => {
  const resolved = resolveConfig({ size: "3b", overrides: { "pipeline.stages": 2 } });
  assert(resolved.ok);
  const spec = stageSpecs(resolved.config, splitLayers(resolved.config))[0]!;
  const { message } = await assertRejects(() => bytesOfCpuStage(spec), OutOfMemoryError);
  assertMatch(message, /^Cannot allocate '.+' of \d+ MiB beside the stage's \d+ MiB: .* has at most 4096 MiB/);
});

Deno.test("Devices: auto says why it took what it took; the processor needs no adapter", async () => {
  const auto = await openComputeWorker({ device: "auto", isShared: true });
  const cpu = await openComputeWorker({ device: "cpu" });
  assertEquals([cpu.adapter.device, cpu.reason, await cpu.inspect()], ["cpu", null, null]);
  assert((await cpu.measureGemm({ budgetMs: 20 }))!.flopsPerCpuSecond > 0);
  if (auto.adapter.isSoftware) assertMatch(auto.reason!, /no GPU was found$/);
  else assertEquals(auto.reason, null);
  auto.close();
  cpu.close();
});
