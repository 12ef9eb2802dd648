/**
 * One process against K stages of one replica each, codec `none`: the same training, step by step, to rounding.
 *
 * On the processor and on WebGPU the residual stream is float32 on both sides of a boundary, so only the order of the gradient
 * norm's sum differs. The reference computes in float64 between float32 wires; there the rounding of the wires is the difference.
 * In `make test` they have fewer steps, and the reference none.
 */

import { assert, assertAlmostEquals } from "@std/assert";
import type { ComputeHost } from "../../cli/device/compute_host.ts";
import { openGpuDevice } from "../../gpu/webgpu/device.ts";
import { createWebGpuStage } from "../../gpu/webgpu/stage/webgpu_stage.ts";
import { gpuTest } from "../support/gpu_adapter.ts";
import { processor, referenceHost } from "../lab/world/devices.ts";
import { World } from "../lab/world/world.ts";
import { tinyConfig } from "../support/tiny_model.ts";
import { isWhole, slowTest } from "../support/whole.ts";

const tolerance = 1e-5; // relative

interface Case {
  readonly steps: number;
  readonly microbatchesPerStep: number;
  readonly learningRate: number;
  readonly device: ComputeHost;
}

const few: Omit<Case, "device"> = isWhole
  ? { steps: 200, microbatchesPerStep: 1, learningRate: 3e-3 }
  : { steps: 40, microbatchesPerStep: 1, learningRate: 6e-3 };

async function lossesOf(stages: number, options: Case): Promise<number[]> {
  const { device, steps, microbatchesPerStep, learningRate } = options;
  const config = tinyConfig({
    model: { width: 32 },
    train: { steps, stepsPerRound: steps / 4, microbatchesPerStep, learningRate },
    outer: { learningRate: 1, momentum: 0 },
    pipeline: { stages, codec: "none" },
    swarm: { validators: 0 },
  });
  const swarm = new World({ config, device });
  await swarm.startAll();
  await swarm.run();
  return swarm.records.all.flatMap((record) => record.type === "stepClosed" ? [record.loss] : []);
}

async function checkParity(options: Case): Promise<void> {
  const one = await lossesOf(1, options);
  const many = await lossesOf(3, options);
  assert(one.length === options.steps && one.at(-1)! < one[0]! - 0.5, "the model learns");
  for (const [step, loss] of one.entries()) assertAlmostEquals(many[step]! / loss, 1, tolerance, `step ${step + 1}`);
}

slowTest("Parity: three stages train as one process does, reference compute", async () => {
  await checkParity({ steps: 200, microbatchesPerStep: 2, learningRate: 1e-3, device: referenceHost() });
});

Deno.test("Parity: three stages train as one process does, the processor", async () => {
  const many = { steps: 200, microbatchesPerStep: 2, learningRate: 1e-3 };
  await checkParity({ ...(isWhole ? many : few), device: processor });
});

gpuTest("Parity: three stages train as one process does, WebGPU", async () => {
  const gpu = await openGpuDevice();
  const device: ComputeHost = {
    adapter: gpu.adapter,
    openStage: (spec) => createWebGpuStage(gpu, spec),
    finish: () => Promise.resolve(),
  };
  try {
    await checkParity({ ...few, device });
  } finally {
    gpu.close();
  }
});
