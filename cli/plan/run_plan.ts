/**
 * `iota plan`: every stage of a run's model on paper, as lines and as a summary, and what to change where one does not fit.
 *
 * Out of scope: the figures themselves (gpu/fit/stage_plan.ts), and the search for a change that fits (cli/roles/model_fit.ts).
 */

import type { RunConfig } from "../../core/config/config.ts";
import { wireBytes } from "../../core/codec/wire.ts";
import type { StageSpec } from "../../core/model/spec.ts";
import { stageFlopsPerToken } from "../../core/model/stages.ts";
import { stageWires } from "../../core/model/stage_wires.ts";
import type { FitAdapter } from "../../gpu/fit/stage_fit.ts";
import type { StagePlan } from "../../gpu/fit/stage_plan.ts";
import type { CommandContext } from "../command.ts";
import { byteOption } from "../options/byte_text.ts";
import { resolveRun } from "../options/run_options.ts";
import { describeRun } from "../orchestrate/describe_run.ts";
import { fitAdapterOf, type Memory, planModel, problemText, remediesFor } from "../roles/model_fit.ts";
import { openDevice } from "../roles/open_device.ts";
import { byteSize, decimal } from "../screen/format.ts";

const gibibyte = 2 ** 30;
const usualMemoryBytes = 16 * gibibyte;

/** What drivers of real GPUs allow at least, as wgpu reports it. */
const usualGpu: FitAdapter = {
  isSoftware: false,
  limits: {
    ...{ maxBufferSize: 2 * gibibyte - 4, maxStorageBufferBindingSize: 2 * gibibyte - 4 },
    ...{ maxComputeWorkgroupsPerDimension: 65_535, maxComputeInvocationsPerWorkgroup: 256 },
    maxComputeWorkgroupStorageSize: 16_384,
  },
};

export async function runPlan(context: CommandContext): Promise<number> {
  const { options, output } = context;
  const { config } = await resolveRun(context);
  const given = byteOption("memory", options.text("memory"));
  const { adapter, name } = await plannedDevice(options.text("device"));
  const memory: Memory = { memoryBytes: given ?? (options.text("device") === undefined ? usualMemoryBytes : Infinity) };
  for (const line of describeRun(config)) output.line(line);
  output.line(`for    ${name}${memory.memoryBytes === Infinity ? "" : `, ${byteSize(memory.memoryBytes)} a stage`}`);
  output.line("");
  const stages = await planModel(config, { adapter, memory });
  const rows = [heading, ...stages.map((stage) => cellsOf(stage))];
  const widths = heading.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  for (const row of rows) output.line(row.map((cell, column) => cell.padStart(widths[column]!)).join("  ").trimEnd());
  for (const { spec, plan } of stages) output.event({ type: "stage", ...factsOf(spec, plan) });
  output.line(
    output.paint.dim("wires: one way, of one task forward and back; link: for each TFLOP/s a miner computes"),
  );
  const fits = stages.every(({ plan }) => plan.fits);
  output.line("");
  output.answer({
    fits,
    size: config.size,
    memoryBytes: memory.memoryBytes === Infinity ? null : memory.memoryBytes,
    stages: stages.map(({ spec: { index }, plan: { parameters, bytes, fits } }) => ({
      index,
      parameters,
      bytes,
      fits,
    })),
  }, await closingText(config, { stages, adapter, memory }));
  return fits ? 0 : 1;
}

interface PlannedStage {
  readonly spec: StageSpec;
  readonly plan: StagePlan;
}

async function plannedDevice(choice: string | undefined): Promise<{ adapter: FitAdapter; name: string }> {
  if (choice === undefined) return { adapter: usualGpu, name: "a GPU whose buffers reach 2 GiB" };
  const worker = await openDevice(choice);
  try {
    return { adapter: await fitAdapterOf(worker) ?? "cpu", name: worker.adapter.name };
  } finally {
    await worker.finish();
  }
}

const heading = [
  "stage",
  "layers",
  "values",
  "parameters",
  "gradients",
  "optimizer",
  "work",
  "total",
  "wires",
  "link",
  "",
];

function cellsOf({ spec, plan }: PlannedStage): string[] {
  const { parts, parameters, bytes, recomputes, fits, problem } = plan;
  const total = problem === null ? byteSize(bytes) : "-";
  const notes = [recomputes ? "blocks computed again" : "", fits ? "" : "does not fit"].filter((note) => note !== "");
  return [
    ...[`${spec.index}`, `${spec.layerCount}`, `${decimal(parameters / 1e6)} M`],
    ...[parts.parameters, parts.gradients, parts.optimizer, parts.work].map(byteSize),
    ...[total, byteSize(Math.max(...Object.values(wireBytesOf(spec)))), `${decimal(linkOf(spec))} Mbit/s`],
    notes.join(", "),
  ];
}

/** `wireBytes`: of one task, forward and backward, received and sent. */
function factsOf(spec: StageSpec, { parameters, bytes, parts, recomputes, fits, problem }: StagePlan) {
  return {
    ...{ index: spec.index, layers: spec.layerCount, parameters, bytes, parts, recomputes, fits },
    ...{ wireBytes: wireBytesOf(spec), linkMbitPerTflops: linkOf(spec) },
    problem: problem === null ? null : problemText(problem),
  };
}

function wireBytesOf(spec: StageSpec): { received: number; sent: number } {
  const { input, inputGradient, output, outputGradient } = stageWires(spec);
  const bytesOf = (wires: readonly (typeof input)[]) =>
    wires.reduce((sum, wire) => sum + (wire === null ? 0 : wireBytes(wire)), 0);
  return { received: bytesOf([input, outputGradient]), sent: bytesOf([output, inputGradient]) };
}

/** Mbit/s in the busier direction, for each TFLOP/s that the miner computes; wires alone, without merges. */
function linkOf(spec: StageSpec): number {
  const { received, sent } = wireBytesOf(spec);
  const flops = stageFlopsPerToken(spec).training * spec.sequences * spec.model.contextLength;
  return (8 * Math.max(received, sent) * 1e12) / (flops * 1e6);
}

async function closingText(
  config: RunConfig,
  { stages, adapter, memory }: { stages: readonly PlannedStage[]; adapter: FitAdapter; memory: Memory },
): Promise<string> {
  const largest = Math.max(...stages.map(({ plan }) => plan.bytes));
  const misfits = stages.filter(({ plan }) => !plan.fits);
  if (misfits.length === 0) return `Every stage fits; the largest takes ${byteSize(largest)}`;
  const problem = misfits.find(({ plan }) => plan.problem !== null)?.plan.problem ?? null;
  const why = problem === null
    ? `the largest takes ${byteSize(largest)}, more than ${byteSize(memory.memoryBytes)}`
    : problemText(problem);
  const remedies = await remediesFor(config, { adapter, memory });
  const advice = remedies.length === 0 ? "use a device with more memory" : `try ${remedies.join(", or ")}`;
  return `${misfits.length} of ${stages.length} stages do not fit: ${why}; ${advice}`;
}
