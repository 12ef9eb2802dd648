/**
 * What a step of each optimizer costs beside the work of the step's tasks, for the three stages of size `tiny`, on the processor
 * and on this machine's adapter.
 *
 *   deno run -A tests/lab/bench/peers/optimizer_bench.ts [--json]
 *
 * CPU milliseconds (user and system time of the whole process, driver threads included), the best of several steps. Tasks are
 * those of one step, 4 microbatches of 4 sequences of 128 tokens: with R replicas a miner has a share of them and takes the
 * whole optimizer step, so the share of its work is about R times the one printed.
 */

import process from "node:process";
import { resolveConfig } from "../../../../core/settings/parse.ts";
import { type StageSpec, stageSpecs } from "../../../../core/model/spec.ts";
import { splitLayers } from "../../../../core/model/stages.ts";
import { type OptimizerName, optimizerNames } from "../../../../core/config/optimizer_names.ts";
import type { StageCompute } from "../../../../gpu/compute.ts";
import { createCpuStage } from "../../../../gpu/cpu/cpu_stage.ts";
import { openGpuDevice } from "../../../../gpu/webgpu/device.ts";
import { createWebGpuStage } from "../../../../gpu/webgpu/stage/webgpu_stage.ts";
import { suiteMicrobatch } from "../../../conformance/compute_world.ts";
import { parametersOf } from "../../../support/tiny_model.ts";

const rounds = 7;
const updatesAtOnce = 5; // an update alone is too short for the clock of CPU time
const activationBytes = 2 ** 28;

const resolved = resolveConfig({ size: "tiny" });
if (!resolved.ok) throw new Error("size tiny has problems");
const { config } = resolved;
const specs = stageSpecs(config, splitLayers(config));
const options = { ...config.train, gradientScale: 0.25 };

async function cpuMsOf(body: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  await body();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

async function tasksOf(stage: StageCompute): Promise<void> {
  const microbatches = Array.from({ length: config.train.microbatchesPerStep }, (_, i) => i);
  for (const i of microbatches) {
    const { input, targets, gradient } = suiteMicrobatch(stage.spec, i);
    if (gradient === null) await stage.turnaround(input, targets);
    else {
      await stage.forward(input, { name: `${i}` });
      await stage.backward(input, gradient, { name: `${i}` });
    }
  }
  await stage.gradientSquareSum(); // waits for the device
}

interface Cost {
  readonly tasksMs: number;
  readonly updateMs: number;
}

async function costOf(stage: StageCompute): Promise<Cost> {
  await stage.loadParameters(parametersOf(stage.spec));
  const [tasks, updates]: [number[], number[]] = [[], []];
  for (let round = 0; round < rounds; round++) {
    tasks.push(await cpuMsOf(() => tasksOf(stage)));
    const update = async () => {
      for (let i = 0; i < updatesAtOnce; i++) await stage.step(options);
      await stage.gradientSquareSum();
    };
    updates.push(await cpuMsOf(update) / updatesAtOnce);
  }
  stage.close();
  return { tasksMs: Math.min(...tasks), updateMs: Math.min(...updates) };
}

type Open = (spec: StageSpec, optimizer: OptimizerName) => Promise<StageCompute>;

async function measure(device: string, open: Open) {
  const rows = [];
  for (const optimizer of optimizerNames) {
    const costs: Cost[] = [];
    for (const spec of specs) costs.push(await costOf(await open(spec, optimizer)));
    const sum = (part: keyof Cost) => costs.reduce((all, cost) => all + cost[part], 0);
    const [tasksMs, updateMs] = [sum("tasksMs"), sum("updateMs")];
    const round = (value: number) => Math.round(value * 10) / 10;
    const sharePercent = round(100 * updateMs / (tasksMs + updateMs));
    rows.push({ device, optimizer, tasksMs: round(tasksMs), updateMs: round(updateMs), sharePercent });
  }
  return rows;
}

const gpu = await openGpuDevice();
const rows = [
  ...await measure("cpu", (spec, optimizer) => createCpuStage(spec, { optimizer, activationBytes })),
  ...await measure(gpu.adapter.name, (spec, optimizer) => createWebGpuStage(gpu, spec, { optimizer, activationBytes })),
];
gpu.close();
if (Deno.args.includes("--json")) console.log(JSON.stringify(rows));
else console.table(rows);
