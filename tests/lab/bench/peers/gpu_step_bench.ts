/**
 * How fast one whole tiny model trains on this adapter, and where its GEMMs stand.
 *
 *   deno run -A tests/lab/bench/peers/gpu_step_bench.ts [--json]
 *
 * Figures are per CPU second (user + system time of the whole process, driver threads included), which repeats within a few
 * percent on a busy machine; wall figures are beside them. Start-up depends on Mesa's shader cache: set
 * MESA_SHADER_CACHE_DISABLE=true to see a first start. On a real GPU only the wall figures mean anything.
 */

import process from "node:process";
import { parameterTable, type StageSpec } from "../../../../core/model/spec.ts";
import { StageBuffers } from "../../../../gpu/webgpu/buffers.ts";
import type { StepOptions } from "../../../../gpu/compute.ts";
import { type GpuDevice, openGpuDevice } from "../../../../gpu/webgpu/device.ts";
import type { GemmKind } from "../../../../gpu/webgpu/generate/gemm_settings.ts";
import { Kernels } from "../../../../gpu/webgpu/kernel.ts";
import type { Dispatch } from "../../../../gpu/stage_ops.ts";
import { kernelsFor, Ops } from "../../../../gpu/webgpu/ops.ts";
import { createWebGpuStage } from "../../../../gpu/webgpu/stage/webgpu_stage.ts";
import { parametersOf, specAt, specsOf, tinyConfig, tokensOf } from "../../../support/tiny_model.ts";

const steps = 5;
const gemmSeconds = 0.3; // of work per shape, roughly
const assumedGflops = 13;

interface Cost {
  readonly cpuMs: number;
  readonly wallMs: number;
}

interface GemmFigure {
  readonly kind: GemmKind;
  readonly rows: number;
  readonly inWidth: number;
  readonly outWidth: number;
  readonly gflopsPerCpuSecond: number;
  readonly gflopsWall: number;
}

const hyper: StepOptions = {
  learningRate: 1e-3,
  gradientScale: 1,
  beta1: 0.9,
  beta2: 0.95,
  epsilon: 1e-8,
  weightDecay: 0.1,
};

function tinySpec(): StageSpec {
  const model = { width: 128, layers: 2, heads: 4, kvHeads: 2, ffnWidth: 384, vocabSize: 1024, contextLength: 128 };
  const config = tinyConfig({ model, pipeline: { stages: 1 }, train: { sequencesPerMicrobatch: 4 } });
  return specAt(specsOf(config), 0);
}

async function costOf(body: () => Promise<unknown>): Promise<Cost> {
  const cpuBefore = process.cpuUsage();
  const wallBefore = performance.now();
  await body();
  const { user, system } = process.cpuUsage(cpuBefore);
  return { cpuMs: (user + system) / 1000, wallMs: performance.now() - wallBefore };
}

const best = (costs: readonly Cost[]): Cost => costs.reduce((a, b) => b.cpuMs < a.cpuMs ? b : a);

async function measureStep(gpu: GpuDevice, kernels: Kernels, spec: StageSpec) {
  let stage: Awaited<ReturnType<typeof createWebGpuStage>> | undefined;
  const start = await costOf(async () => stage = await createWebGpuStage(gpu, spec, { kernels }));
  if (stage === undefined) throw new Error("the stage was not created");
  const own = stage;
  await own.loadParameters(parametersOf(spec));
  const { tokens, targets } = tokensOf(spec);
  const costs: Cost[] = [];
  for (let i = 0; i < steps; i++) {
    costs.push(
      await costOf(async () => {
        await own.turnaround({ type: "tokens", tokens }, targets);
        await own.step(hyper);
      }),
    );
  }
  own.close();
  return { start, step: best(costs) };
}

/** The products of one layer and of the head, each with both gradients. */
function linearSizes(spec: StageSpec): { inWidth: number; outWidth: number }[] {
  const { width, heads, kvHeads, ffnWidth, vocabSize } = spec.model;
  return [
    { inWidth: width, outWidth: width + 2 * kvHeads * (width / heads) },
    { inWidth: width, outWidth: width },
    { inWidth: width, outWidth: 2 * ffnWidth },
    { inWidth: ffnWidth, outWidth: width },
    { inWidth: width, outWidth: vocabSize },
  ];
}

async function measureGemms(gpu: GpuDevice, kernels: Kernels, spec: StageSpec): Promise<GemmFigure[]> {
  const ops = new Ops(kernels, kernelsFor(gpu));
  const rows = spec.sequences * spec.model.contextLength;
  const figures: GemmFigure[] = [];
  for (const { inWidth, outWidth } of linearSizes(spec)) {
    const buffers = new StageBuffers(gpu);
    const sizes = { rows, inWidth, outWidth };
    const input = buffers.storage("x", rows * inWidth);
    const weight = buffers.storage("W", outWidth * inWidth);
    const output = buffers.storage("y", rows * outWidth);
    const byKind: Record<GemmKind, Dispatch> = {
      forward: ops.linear(sizes, { input, weight, output }),
      inputGradient: ops.linearInputGradient(sizes, { outputGradient: output, weight, inputGradient: input }),
      weightGradient: ops.linearWeightGradient(sizes, { outputGradient: output, input, weightGradient: weight }),
    };
    await kernels.warmUp();
    for (const kind of ["forward", "inputGradient", "weightGradient"] as const) {
      const flops = 2 * rows * inWidth * outWidth;
      const repeats = Math.ceil(gemmSeconds * assumedGflops * 1e9 / 3 / flops);
      const program = Array.from({ length: repeats }, () => byKind[kind]);
      const costs: Cost[] = [];
      for (let i = 0; i < 3; i++) {
        costs.push(
          await costOf(() => {
            kernels.run(program);
            return buffers.finish();
          }),
        );
      }
      const { cpuMs, wallMs } = best(costs);
      const gflops = (ms: number) => round(flops * repeats / ms / 1e6);
      figures.push({ kind, ...sizes, gflopsPerCpuSecond: gflops(cpuMs), gflopsWall: gflops(wallMs) });
    }
    buffers.destroy();
  }
  return figures;
}

const round = (value: number) => Math.round(value * 100) / 100;

const gpu = await openGpuDevice();
const kernels = new Kernels(gpu);
const spec = tinySpec();
const { start, step } = await measureStep(gpu, kernels, spec);
const tokens = spec.sequences * spec.model.contextLength;
const summary = {
  adapter: gpu.adapter.name,
  parameters: parameterTable(spec).length,
  tokensPerStep: tokens,
  pipelines: kernels.count,
  startCpuMs: round(start.cpuMs),
  startWallMs: round(start.wallMs),
  stepCpuMs: round(step.cpuMs),
  stepWallMs: round(step.wallMs),
  tokensPerCpuSecond: Math.round(tokens / step.cpuMs * 1000),
  tokensPerSecond: Math.round(tokens / step.wallMs * 1000),
  gemms: await measureGemms(gpu, kernels, spec),
};
gpu.close();

if (Deno.args.includes("--json")) {
  console.log(JSON.stringify(summary));
} else {
  const { gemms, ...rest } = summary;
  console.table(rest);
  console.table(gemms);
}
