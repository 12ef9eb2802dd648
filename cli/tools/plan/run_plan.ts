/** `iota plan`: every stage of a run's model on paper, and what to change where one does not fit. */

import { beyondLlama } from "../../../core/model/plain.ts";
import { present } from "../../../core/assert.ts";
import type { RunConfig } from "../../../core/config/config.ts";
import { longestRound, mergeShareOf } from "../../../core/config/round_length.ts";
import { tomlValue } from "../../../core/config/knob.ts";
import { knobPaths } from "../../../core/config/knobs.ts";
import { valueAt } from "../../../core/settings/derive.ts";
import type { Origins } from "../../../core/settings/parse.ts";
import { reasonFor } from "../../../core/settings/reasons.ts";
import type { FitAdapter } from "../../../gpu/stage_fit.ts";
import type { StagePlan } from "../../../gpu/stage_plan.ts";
import type { CommandContext } from "../../terminal/command.ts";
import { byteOption } from "../../terminal/text/byte_text.ts";
import { resolveNewRun } from "../../orchestrator/run/plan_run.ts";
import { describeResult, describeRun, describeSettings } from "../../orchestrator/run/describe_run.ts";
import { fitAdapterOf, type Memory, planModel, problemText, remediesFor } from "../../device/model_fit.ts";
import { openDevice } from "../../device/open_device.ts";
import { byteSize, decimal, plural, roughly, short, wrapped } from "../../terminal/text/format.ts";
import { type Links, linksFor, type RoundBytes, roundBytes, taskBytes } from "./round_bytes.ts";
import type { StageSpec } from "../../../core/model/spec.ts";

const gibibyte = 2 ** 30;
const usualMemoryBytes = 16 * gibibyte;

/** The least that drivers of real GPUs allow, as wgpu reports it. */
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
  const { config, origins } = await resolveNewRun(context);
  const given = byteOption("memory", options.text("memory"));
  const { adapter, name } = await plannedDevice(options.text("device"));
  const memory: Memory = { memoryBytes: given ?? (options.text("device") === undefined ? usualMemoryBytes : Infinity) };
  for (const line of describeRun(config).split(": ")) output.line(line);
  output.line(describeResult(config));
  for (const line of describeSettings(config)) output.detail(line);
  output.detail(`for    ${name}${memory.memoryBytes === Infinity ? "" : `, ${byteSize(memory.memoryBytes)} a stage`}`);
  output.line("");
  const stages = await planModel(config, { adapter, memory });
  const rounds = roundBytes(config, stages.map(({ spec }) => spec));
  const planned = stages.map((stage, i): PlannedStage => {
    const round = present(rounds[i], "every stage has a round");
    return { ...stage, round, links: linksFor(round, config) };
  });
  for (const line of needsText(config, { stages: planned, memory })) output.line(line);
  output.line("");
  for (const line of table([shortHeading, ...planned.map(shortCellsOf)])) output.line(line);
  for (const line of ["", ...whyLines(config, origins)]) output.line(line);
  for (const line of ["", ...table([heading, ...planned.map(cellsOf)]), ...legend(config)]) output.detail(line);
  for (const stage of planned) output.event({ type: "stage", ...factsOf(stage) });
  const fits = stages.every(({ plan }) => plan.fits);
  output.line("");
  output.answer({
    fits,
    size: config.size,
    plainLlama: beyondLlama(config) === null,
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

function table(rows: readonly (readonly string[])[]): string[] {
  const widths = present(rows[0], "a table has a heading").map((_, column) =>
    Math.max(...rows.map((row) => row[column]!.length))
  );
  return rows.map((row) => row.map((cell, column) => cell.padStart(widths[column]!)).join("  ").trimEnd());
}

const legend = ({ train }: RunConfig): string[] => [
  "wires: one way, of one task forward and back; link: Mbit/s that carry them and what audits ask for,",
  `for each TFLOP/s a miner computes; merge: sent once in ${
    plural(longestRound(train), "step")
  }; in time: Mbit/s for each`,
  `TFLOP/s with which merges take ${decimal(100 * mergeShareOf(train))} % of the time`,
];

/** Every number that nobody gave. */
function whyLines(config: RunConfig, origins: Origins): string[] {
  const rows = knobPaths.filter((path) => origins[path] === "size" || origins[path] === "from").flatMap((path) => {
    const reason = origins[path] === "from" ? "comes with the model" : reasonFor(config, path);
    return reason === null ? [] : [{ setting: `${path} = ${tomlValue(valueAt(config, path))}`, reason }];
  });
  const widest = Math.max(0, ...rows.map(({ setting }) => setting.length));
  return [
    ...(rows.length === 0 ? [] : ["Settings and why"]),
    ...rows.flatMap(({ setting, reason }) =>
      wrapped(reason, lineWidth - widest - 2).map((line, i) => `${(i === 0 ? setting : "").padEnd(widest)}  ${line}`)
    ),
  ];
}

const lineWidth = 80;

async function plannedDevice(choice: string | undefined): Promise<{ adapter: FitAdapter; name: string }> {
  if (choice === undefined) return { adapter: usualGpu, name: "a GPU whose buffers reach 2 GiB" };
  const worker = await openDevice(choice);
  try {
    return { adapter: await fitAdapterOf(worker) ?? "cpu", name: worker.adapter.name };
  } finally {
    await worker.finish();
  }
}

const shortHeading = ["stage", "layers", "parameters", "GPU memory", ""];

const shortCellsOf = ({ spec, plan }: PlannedStage): string[] => [
  ...[`${spec.index}`, `${spec.layerCount}`, short(plan.parameters)],
  ...[plan.problem === null ? byteSize(plan.bytes) : "-", notesOf(plan)],
];

const notesOf = ({ recomputes, fits }: StagePlan): string =>
  [recomputes ? "blocks computed again" : "", fits ? "" : "does not fit"].filter((note) => note !== "").join(", ");

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
  "merge",
  "in time",
  "",
];

function cellsOf({ spec, plan, round, links }: PlannedStage): string[] {
  const { parts, parameters, bytes, problem } = plan;
  const total = problem === null ? byteSize(bytes) : "-";
  return [
    ...[`${spec.index}`, `${spec.layerCount}`, `${decimal(parameters / 1e6)} M`],
    ...[parts.parameters, parts.gradients, parts.optimizer, parts.work].map(byteSize),
    ...[total, byteSize(Math.max(...Object.values(taskBytes(spec)))), decimal(links.training)],
    ...[byteSize(round.merge.sent), decimal(links.merging)],
    notesOf(plan),
  ];
}

function factsOf({ spec, plan: { parameters, bytes, parts, recomputes, fits, problem }, round, links }: PlannedStage) {
  const { flops: _, ...bytesOfRound } = round;
  return {
    ...{ index: spec.index, layers: spec.layerCount, parameters, bytes, parts, recomputes, fits },
    ...{ wireBytes: taskBytes(spec), roundBytes: bytesOfRound, linkMbitPerTflops: links.wires },
    ...{ trainingMbitPerTflops: links.training, mergingMbitPerTflops: links.merging },
    problem: problem === null ? null : problemText(problem),
  };
}

async function closingText(
  config: RunConfig,
  { stages, adapter, memory }: {
    stages: readonly Pick<PlannedStage, "spec" | "plan">[];
    adapter: FitAdapter;
    memory: Memory;
  },
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
  return `${misfits.length} of ${plural(stages.length, "stage")} ${
    misfits.length === 1 ? "does" : "do"
  } not fit: ${why}; ${advice}`;
}

interface PlannedStage {
  readonly spec: StageSpec;
  readonly plan: StagePlan;
  readonly round: RoundBytes;
  readonly links: Links;
}

const usualTflops = 10; // a recent gaming GPU on the run's matrices; two to four times as many on paper
const usualLinks = [20, 100, 1_000]; // up: cable or DSL, fibre at home, a data centre

function needsText(
  config: RunConfig,
  { stages, memory }: { stages: readonly PlannedStage[]; memory: Memory },
): string[] {
  const { swarm: { replicas }, pipeline } = config;
  const miners = replicas * pipeline.stages;
  const largest = Math.max(...stages.map(({ plan }) => plan.bytes));
  const mbit = usualTflops * Math.max(...stages.map(({ links }) => Math.max(links.training, links.merging)));
  const allowed = memory.memoryBytes === Infinity
    ? ""
    : largest <= memory.memoryBytes
    ? `, of ${byteSize(memory.memoryBytes)}`
    : `, where ${byteSize(memory.memoryBytes)} are allowed`;
  return [
    `Miners          ${decimal(miners)}: ${plural(replicas, "miner")} for each of ${plural(pipeline.stages, "stage")}`,
    `GPU memory      ${byteSize(largest)} a miner${allowed}`,
    `Internet speed  ${
      mbit <= usualLinks.at(-1)!
        ? `${decimal(mbit)} Mbit/s a miner keep a GPU of ${usualTflops} TFLOP/s busy`
        : "any: a model this small waits for links, not for GPUs"
    }`,
    ...usualLinks.map((link, i) =>
      `${i === 0 ? "Time" : ""}`.padEnd(16) +
      `${roughly(1_000 * secondsOf(config, { stages, link }))} or more at ${decimal(link)} Mbit/s`
    ),
  ];
}

/** With miners of `usualTflops`: wires move while stages compute; merges come after. Latency is left out. */
function secondsOf(
  { train }: Pick<RunConfig, "train">,
  { stages, link }: { stages: readonly PlannedStage[]; link: number },
): number {
  const over = (bytes: number) => 8 * bytes / (link * 1e6);
  const slowest = (of: (round: RoundBytes) => number) => Math.max(...stages.map(({ round }) => of(round)));
  const training = slowest(({ flops, wires, shown }) =>
    Math.max(flops / (usualTflops * 1e12), over(Math.max(wires.received, wires.sent + shown)))
  );
  const merging = slowest(({ merge }) => over(merge.received + merge.sent));
  return train.steps / longestRound(train) * (training + merging);
}
