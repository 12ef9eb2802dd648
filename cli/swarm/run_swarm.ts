/** `iota swarm`, from the command line to the summary. */

import { systemTimers } from "../../net/timers.ts";
import { type ChaosPlan, parsePlan } from "./chaos/plan.ts";
import { logWords } from "../terminal/options/service_options.ts";
import { givenWords } from "../terminal/options/run_options.ts";
import type { CommandContext, OptionSpec, OptionValues } from "../terminal/command.ts";
import { mustBeCorpus } from "../model/prepare/collect_small.ts";
import { keepPage } from "../observe/dashboard/keep_page.ts";
import { nextLines } from "../observe/screen/next_lines.ts";
import { exitFailed, exitFine, Stopped, Terminated, UsageError } from "../program/errors.ts";
import { datedFolder } from "../files/run_folder.ts";
import { shellWords } from "../program/shell_words.ts";
import { tryPort } from "../orchestrator/hub/hub_port.ts";
import { planRun, type RunPlan, sayChanges, sayOver } from "../orchestrator/run/plan_run.ts";
import type { FolderLock } from "../files/folder_lock.ts";
import { mustHaveText, takeRunFolder } from "../orchestrator/run/prepare_run.ts";
import { deviceSentence, deviceText, openDevice, sameDevice, threadsOf } from "../device/open_device.ts";
import { readTuning, shareTuning } from "../device/tuning_file.ts";
import { hasLostRound, saveSummary, sessionFields } from "../observe/run_summary.ts";
import { Swarm } from "./swarm.ts";
import { type Emission, payLines } from "./swarm_chain.ts";
import { brokenLinksRule, type LinkShape, parseLinks } from "./chaos/link_shape.ts";
import type { ComputeWorker } from "../../gpu/worker_client.ts";
import { byteOption } from "../terminal/text/byte_text.ts";
import { tuningFolder } from "../program/paths.ts";
import { type Memory, mustFit } from "../device/model_fit.ts";
import { samplingOf } from "../../core/settings/sampling.ts";
import { sampleModel } from "../model/generate/run_generate.ts";

/** `unkept`: options that no run keeps. */
export async function runSwarm(context: CommandContext, unkept: readonly OptionSpec[]): Promise<number> {
  const startedMs = systemTimers.nowMs();
  const interruption = context.interruption();
  const plan = chaosPlan(context);
  const links = givenLinks(context) ?? null;
  const isResumed = context.options.flag("resume");
  const runPlan = await planRun(context, () => datedFolder(`${context.dataFolder()}/runs`, { isResumed }));
  const folder = runPlan.folder.path;
  if (runPlan.isOver) {
    await sayOver(context, { plan: runPlan, command: "swarm" });
    return 0;
  }
  const worker = await preflight(context, runPlan); // mistakes fail before anything starts
  if (runPlan.putsAside) await mustHaveText(runPlan); // nothing is put aside for a run that cannot begin
  else if (!runPlan.folder.isResumed) await mustBeCorpus(runPlan.config.data.corpus); // nor is a folder made
  await tryPort(context.options.number("port") ?? 0);
  let lock: FolderLock | null = null;
  if (!interruption.aborted) {
    lock = await takeRunFolder(context, runPlan, { command: "swarm", port: null });
    await shareTuning(usersFolder(context), folder);
    sayChanges(context, runPlan);
  }
  worker.close(); // a process that ends right after this may crash in the driver (ComputeWorker.finish)
  const memory = context.options.text("memory");
  const threads = ["--threads", String(worker.threads ?? 1)];
  const nodeWords = [
    ...logWords(context.options),
    ...["--device", sameDevice(worker), ...threads, ...(memory === undefined ? [] : ["--memory", memory])],
  ];
  const swarm = new Swarm(context, {
    ...{ folder, startedMs, plan, links, nodeWords },
    lockToken: lock?.token ?? null,
  });
  const onAbort = () => swarm.interrupt();
  interruption.addEventListener("abort", onAbort);
  if (interruption.aborted) return endBeforeStart(context, { plan: runPlan, summary: swarm.summary(), startedMs });
  const exitCode = await swarm.run();
  const summary = swarm.summary();
  if (interruption.aborted) {
    const again = shellWords(resumeWords(context.options, { folder, unkept }));
    context.output.log.warn(`Stopped after step ${summary["steps"]}, kept up to the last merge; resume with: ${again}`);
  }
  if (exitCode === 0 && !interruption.aborted) summary["sample"] = await writeSample(context, runPlan);
  summary["wallMs"] = systemTimers.nowMs() - startedMs;
  const { sample: _, emission, burnedRao, ...measured } = summary;
  const table = { ...measured, sessionFields: sessionFields({ isJournaled: false }) }; // a swarm counts from its start
  const paid = { emission: emission as Emission[] | null, burnedRao: BigInt(burnedRao as string | null ?? "0") };
  for (const line of payLines(paid, context.output.paint)) context.output.line(line);
  await saveSummary(summary, { folder, warn: (text) => context.output.log.warn(text) });
  lock?.close(); // the page only reads
  interruption.removeEventListener("abort", onAbort);
  const { output, environment } = context;
  const isDone = exitCode === 0 && !interruption.aborted;
  const next = isDone ? nextLines({ environment, paint: output.paint, config: runPlan.config, folder }) : [];
  output.summary(output.mode === "json" ? summary : table, next); // people have already seen the text
  const { dashboard: url } = swarm;
  if (isDone && url !== null) {
    output.printSummary();
    const { hostname: host, port } = new URL(url);
    await keepPage(context, { folder, host, port: Number(port), url });
  }
  return isStoppedInOrder(context) ? stoppedCode(summary) : exitCode;
}

/** Stopping in a lost round is a failure. */
export const stoppedCode = (summary: Readonly<Record<string, unknown>>): number =>
  hasLostRound(summary) ? exitFailed : exitFine;

/** Stopped by the system, a key, or Ctrl-C while the screen shows how to resume. */
function isStoppedInOrder({ interruption, output }: CommandContext): boolean {
  const { aborted, reason } = interruption();
  return aborted && (reason instanceof Terminated || (reason instanceof Stopped && output.mode === "live"));
}

/** No process was started, and the folder keeps its summary. */
function endBeforeStart(
  context: CommandContext,
  { plan: { found }, summary, startedMs }: { plan: RunPlan; summary: Record<string, unknown>; startedMs: number },
): number {
  const { output } = context;
  output.log.warn("Stopped before any process was started: nothing was trained");
  const steps = found?.manifest.step ?? 0;
  const fields = { ...summary, steps, wallMs: systemTimers.nowMs() - startedMs };
  output.summary(output.mode === "json" ? fields : { ...fields, sessionFields: sessionFields({ isJournaled: false }) });
  return isStoppedInOrder(context) ? exitFine : exitFailed;
}

function chaosPlan({ options }: CommandContext): ChaosPlan {
  const text = options.text("chaos");
  if (text === undefined) return [];
  const parsed = parsePlan(text);
  if (parsed.ok) return parsed.plan;
  throw new UsageError(parsed.problem, { next: parsed.next });
}

export const resumeWords = (
  options: OptionValues,
  { folder, unkept }: { folder: string; unkept: readonly OptionSpec[] },
): string[] => ["iota", "swarm", "--data", folder, ...givenWords(options, unkept)];

export function givenLinks({ options }: Pick<CommandContext, "options">): LinkShape | undefined {
  const text = options.text("links");
  if (text === undefined) return undefined;
  const shape = parseLinks(text);
  if (shape !== null) return shape;
  throw new UsageError(`Cannot use --links '${text}': ${brokenLinksRule(text)}`, {
    next: 'For example: --links "40ms 20mbit"',
  });
}

const usersFolder = (context: CommandContext): string => tuningFolder(context.environment) ?? context.dataFolder();

async function preflight(
  context: CommandContext,
  { config, folder: { isResumed } }: RunPlan,
): Promise<ComputeWorker> {
  const { pipeline, swarm } = config;
  const nodes = pipeline.stages * swarm.replicas + swarm.validators;
  const threads = context.options.number("threads") ?? threadsOf(nodes);
  const tuned = await readTuning(usersFolder(context));
  const worker = await openDevice(context.options.text("device"), { isShared: true, threads, tuned });
  context.output.line(deviceSentence(worker));
  context.output.detail(`Computes on ${deviceText(worker)}`);
  try {
    const given = byteOption("memory", context.options.text("memory"));
    const memory: Memory = { memoryBytes: given ?? Infinity };
    if (!isResumed) await mustFit(config, { worker, memory, memoryBytes: () => Deno.systemMemoryInfo().available });
  } finally {
    await worker.finish();
  }
  return worker;
}

/** People see it before the table. */
async function writeSample(
  { options, output }: CommandContext,
  { config, folder: { path: run } }: RunPlan,
): Promise<string | null> {
  const tokens = options.number("sample-tokens") ?? 60;
  if (tokens === 0) return null;
  const { prompt } = samplingOf(config);
  const device = await openDevice(options.text("device"));
  try {
    const sampling = { temperature: 0.7, topK: 40, seed: 1 };
    const { text } = await sampleModel(
      device,
      { model: run, prompt, tokens, ...sampling },
      (warning) => output.log.warn(warning),
    );
    output.line("");
    output.line(`${output.paint.bold(prompt)}${text}`);
    output.line("");
    return `${prompt}${text}`;
  } finally {
    await device.finish();
  }
}
