/**
 * What it costs to train as a swarm: tokens per CPU second of a whole local swarm (orchestrator, network, journal, miners)
 * against processes that only compute, same model, same kernels, nothing compressed.
 *
 *   deno run -A tests/bench/orchestration_bench.ts [--json] [--stages 1,3]
 *
 * CPU seconds are user and system time of all processes together. Start-up (shaders, dataset) cancels out: each swarm runs twice,
 * and the longer run's extra steps are what counts. A swarm does the same arithmetic as the one process, as its miners keep what
 * a backward needs. Processes that share cores slow each other down, so as many that only compute run at once as the swarm has
 * miners; and a shared machine's speed drifts, so they run before and after each swarm: a difference below the drift says nothing.
 */

import process from "node:process";
import { resolveConfig } from "../../core/config/parse.ts";
import { splitLayers } from "../../core/model/stages.ts";
import { initialParameters } from "../../core/model/initial.ts";
import { parameterTable, stageSpecs } from "../../core/model/spec.ts";
import { openGpuDevice } from "../../gpu/device.ts";
import { createWebGpuStage } from "../../gpu/stage.ts";

const shortSteps = 20;
const longSteps = 80;
const computeSteps = 24;
const iota = new URL("../../iota", import.meta.url).pathname;

function configOf(stages: number, steps: number) {
  const resolved = resolveConfig({ size: "tiny", overrides: overrides(stages, steps) });
  if (!resolved.ok) throw new Error(resolved.problems[0]?.text);
  return resolved.config;
}

const overrides = (stages: number, steps: number) => ({
  "pipeline.codec": "none",
  "pipeline.stages": stages,
  "swarm.replicas": 1,
  "swarm.validators": 0,
  "train.steps": steps,
  "train.stepsPerRound": steps,
});

interface Computed {
  readonly tokens: number;
  readonly cpuSeconds: number;
}

/** Tokens per CPU second of so many processes at once that do nothing but this model's steps. */
async function computeAlone(processes: number): Promise<number> {
  const runs = await Promise.all(Array.from({ length: processes }, async () => {
    const args = ["run", "-A", "--no-check", import.meta.url, "--compute"];
    const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), { args }).output();
    if (!success) throw new Error(new TextDecoder().decode(stderr));
    return JSON.parse(new TextDecoder().decode(stdout)) as Computed;
  }));
  const sum = (of: (run: Computed) => number) => runs.reduce((total, run) => total + of(run), 0);
  return sum(({ tokens }) => tokens) / sum(({ cpuSeconds }) => cpuSeconds);
}

async function compute(): Promise<Computed> {
  const config = configOf(1, computeSteps);
  const spec = stageSpecs(config, splitLayers(config))[0]!;
  const stage = await createWebGpuStage(await openGpuDevice(), spec);
  await stage.loadParameters(initialParameters(parameterTable(spec), 1));
  const { contextLength, vocabSize } = config.model;
  const { microbatchesPerStep, sequencesPerMicrobatch, learningRate } = config.train;
  const tokens = Uint32Array.from({ length: sequencesPerMicrobatch * contextLength }, (_, i) => (i * 7) % vocabSize);
  const step = async () => {
    for (let i = 0; i < microbatchesPerStep; i++) await stage.turnaround({ type: "tokens", tokens }, tokens);
    await stage.gradientSquareSum();
    const { beta1, beta2, epsilon, weightDecay } = config.train;
    await stage.step({ learningRate, gradientScale: 1 / microbatchesPerStep, beta1, beta2, epsilon, weightDecay });
  };
  for (let i = 0; i < 4; i++) await step();
  const before = process.cpuUsage();
  for (let i = 0; i < computeSteps; i++) await step();
  const { user, system } = process.cpuUsage(before);
  return { tokens: computeSteps * microbatchesPerStep * tokens.length, cpuSeconds: (user + system) / 1e6 };
}

/** CPU seconds of a whole swarm and all it starts. */
async function swarmSeconds(stages: number, steps: number): Promise<number> {
  const folder = await Deno.makeTempDir({ prefix: "iota-bench-" });
  const set = Object.entries(overrides(stages, steps)).map(([path, value]) => `${path}=${value}`).join(",");
  const words = `swarm --size tiny --fresh --sample-tokens 0 --data ${folder} --set ${set} --json`;
  const command = new Deno.Command("bash", {
    args: ["-c", `${iota} ${words} > ${folder}/out.log 2>&1 || exit 1; times`],
    stdout: "piped",
  });
  const { success, stdout } = await command.output();
  const log = await Deno.readTextFile(`${folder}/out.log`);
  await Deno.remove(folder, { recursive: true });
  if (!success) throw new Error(log.slice(-2000));
  const children = new TextDecoder().decode(stdout).trim().split("\n").at(-1)!;
  return children.split(" ").reduce((sum, part) => {
    const [minutes, seconds] = part.replace("s", "").split("m");
    return sum + 60 * Number(minutes) + Number(seconds);
  }, 0);
}

async function swarmTokensPerSecond(stages: number): Promise<number> {
  const { contextLength } = configOf(stages, longSteps).model;
  const { microbatchesPerStep, sequencesPerMicrobatch } = configOf(stages, longSteps).train;
  const extra = await swarmSeconds(stages, longSteps) - await swarmSeconds(stages, shortSteps);
  return ((longSteps - shortSteps) * microbatchesPerStep * sequencesPerMicrobatch * contextLength) / extra;
}

if (Deno.args.includes("--compute")) {
  console.log(JSON.stringify(await compute()));
  Deno.exit(0);
}
const asked = Deno.args.includes("--stages") ? Deno.args[Deno.args.indexOf("--stages") + 1]! : "1,3";
const rows: Record<string, unknown>[] = [];
for (const stages of asked.split(",").map(Number)) {
  const before = await computeAlone(stages);
  const tokensPerCpuSecond = await swarmTokensPerSecond(stages);
  const after = await computeAlone(stages);
  const baseline = (before + after) / 2;
  const baselineDrift = after / before - 1;
  const overhead = 1 - tokensPerCpuSecond / baseline;
  rows.push({ stages, tokensPerCpuSecond, baseline, baselineDrift, overhead });
}
if (Deno.args.includes("--json")) {
  for (const row of rows) console.log(JSON.stringify({ type: "measurement", ...row }));
  console.log(JSON.stringify({ type: "summary", overheads: rows.map(({ overhead }) => overhead) }));
} else console.table(rows);
Deno.exit(0);
