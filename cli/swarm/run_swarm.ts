/**
 * `iota swarm`, from the command line to the summary: the chaos plan, the folder, the swarm, a sample of the model's
 * text.
 */

import { samplingOf } from "../../core/settings/sampling.ts";
import { systemTimers } from "../../net/timers.ts";
import { type ChaosPlan, parsePlan } from "./chaos/plan.ts";
import type { ComputeWorker } from "../../gpu/worker_client.ts";
import type { CommandContext, OptionSpec, OptionValues } from "../terminal/command.ts";
import { mustBeCorpus } from "../model/data/corpus.ts";
import { keepPage } from "../observe/dashboard/keep_page.ts";
import { nextLines } from "../observe/screen/next_lines.ts";
import { Stopped, Terminated, UsageError } from "../program/errors.ts";
import { exitFailed, exitFine } from "../program/exit_codes.ts";
import type { Paint } from "../terminal/text/paint.ts";
import { logWords } from "../terminal/options/log_words.ts";
import { byteOption } from "../terminal/text/byte_text.ts";
import { tuningFolder } from "../program/paths.ts";
import { datedFolder } from "../files/run_folder.ts";
import { shellWords } from "../program/shell_words.ts";
import { shortAddress } from "../terminal/text/format.ts";
import { tryPort } from "../orchestrator/hub/hub_port.ts";
import { type Memory, mustFit } from "../device/model_fit.ts";
import { planRun, type RunPlan, sayChanges, sayOver } from "../orchestrator/run/plan_run.ts";
import type { FolderLock } from "../files/folder_lock.ts";
import { mustHaveText, takeRunFolder } from "../orchestrator/run/prepare_run.ts";
import { sampleRun } from "../model/generate/run_generate.ts";
import { deviceSentence, deviceText, openDevice, sameDevice, threadsOf } from "../device/open_device.ts";
import { readTuning, shareTuning } from "../device/tuning_file.ts";
import { hasLostRound, saveSummary, sessionFields } from "../observe/run_summary.ts";
import { givenLinks } from "./chaos/given_links.ts";
import { Swarm } from "./swarm.ts";
import type { Emission } from "./swarm_chain.ts";
import { givenWords } from "../terminal/options/run_options.ts";

/** `unkept`: options that no run keeps, for the command that resumes it. */
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
  const worker = await preflight(context, runPlan); // so that mistakes fail before anything starts
  if (runPlan.putsAside) await mustHaveText(runPlan); // nothing is put aside for a run that cannot begin
  else if (!runPlan.folder.isResumed) await mustBeCorpus(runPlan.config.data.corpus); // nor is a folder made
  await tryPort(context.options.number("port") ?? 0);
  let lock: FolderLock | null = null;
  if (!interruption.aborted) { // otherwise nothing is put aside or made
    lock = await takeRunFolder(context, runPlan, { command: "swarm", port: null });
    await shareTuning(usersFolder(context), folder);
    sayChanges(context, runPlan.changes);
  }
  worker.close(); // only now, as a process that ends right after this may crash in the driver (ComputeWorker.finish)
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
  const table = { ...measured, sessionFields: sessionFields({ isJournaled: false }) }; // a swarm counts from its own start
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

/** As of an orchestrator that is asked to stop: a swarm that stops in a round that it had lost has failed. */
export const stoppedCode = (summary: Readonly<Record<string, unknown>>): number =>
  hasLostRound(summary) ? exitFailed : exitFine;

/** By the system, by a key, or by Ctrl-C of a person who sees the screen and reads how to resume: that is no failure. */
function isStoppedInOrder({ interruption, output }: CommandContext): boolean {
  const { aborted, reason } = interruption();
  return aborted && (reason instanceof Terminated || (reason instanceof Stopped && output.mode === "live"));
}

/** Interrupted while it was checked: no process was started, and the folder keeps the summary that it has. */
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

const usersFolder = (context: CommandContext): string => tuningFolder(context.environment) ?? context.dataFolder();

/** Opens the device of all nodes, and leaves it at rest. */
async function preflight(context: CommandContext, { config, folder: { isResumed } }: RunPlan): Promise<ComputeWorker> {
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

/** What the chain has paid each node, in order, and what it has burned. */
function payLines(
  { emission, burnedRao }: { emission: readonly Emission[] | null; burnedRao: bigint },
  paint: Paint,
): string[] {
  if (emission === null || emission.length === 0) return [];
  const alpha = (rao: bigint) => `${(Number(rao / 1_000_000n) / 1_000).toFixed(3).padStart(10)} alpha`; // rao are billionths
  const rows = emission.map(({ name, hotkey, emissionRao }) =>
    `  ${name.padEnd(12)} ${paint.dim(shortAddress(hotkey))} ${alpha(BigInt(emissionRao))}`
  );
  const burned = burnedRao === 0n
    ? []
    : [`  ${"burned".padEnd(26)}${alpha(burnedRao)}, of hotkeys whose coldkey owns the subnet`];
  return [paint.dim("earned on the local chain, and in their stake"), ...rows, ...burned, ""];
}

/** Without --chaos there is no plan. */
function chaosPlan({ options }: CommandContext): ChaosPlan {
  const text = options.text("chaos");
  if (text === undefined) return [];
  const parsed = parsePlan(text);
  if (parsed.ok) return parsed.plan;
  throw new UsageError(parsed.problem, { next: parsed.next });
}

/** A sample of the trained model's text; people see it before the table. */
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
    const { text } = await sampleRun(
      device,
      { run, prompt, tokens, ...sampling },
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

/** `unkept`: options that no run keeps. */
export const resumeWords = (
  options: OptionValues,
  { folder, unkept }: { folder: string; unkept: readonly OptionSpec[] },
): string[] => ["iota", "swarm", "--data", folder, ...givenWords(options, unkept)];
