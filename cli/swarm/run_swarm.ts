/**
 * `iota swarm`, from the command line to the summary: the chaos plan, the folder, the swarm, a sample of the model's
 * text.
 */

import { systemTimers } from "../../net/timers.ts";
import { type ChaosPlan, parsePlan } from "./chaos/plan.ts";
import { logWords } from "../terminal/options/log_words.ts";
import { givenWords } from "../terminal/options/run_options.ts";
import type { CommandContext, OptionSpec, OptionValues } from "../terminal/command.ts";
import { mustBeCorpus } from "../model/data/corpus.ts";
import { keepPage } from "../observe/dashboard/keep_page.ts";
import { nextLines } from "../observe/screen/next_lines.ts";
import { Stopped, Terminated, UsageError } from "../program/errors.ts";
import { exitFailed, exitFine } from "../program/exit_codes.ts";
import { datedFolder } from "../files/run_folder.ts";
import { shellWords } from "../program/shell_words.ts";
import { tryPort } from "../orchestrator/hub/hub_port.ts";
import { planRun, type RunPlan, sayChanges, sayOver } from "../orchestrator/run/plan_run.ts";
import type { FolderLock } from "../files/folder_lock.ts";
import { mustHaveText, takeRunFolder } from "../orchestrator/run/prepare_run.ts";
import { sameDevice } from "../device/open_device.ts";
import { shareTuning } from "../device/tuning_file.ts";
import { hasLostRound, saveSummary, sessionFields } from "../observe/run_summary.ts";
import { givenLinks } from "./chaos/given_links.ts";
import { Swarm } from "./swarm.ts";
import { type Emission, payLines } from "./swarm_chain.ts";
import { preflight, usersFolder } from "./preflight.ts";
import { writeSample } from "./swarm_sample.ts";

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

/** Stopped by the system, a key, or Ctrl-C of a person who sees on the screen how to resume: not a failure. */
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

/** Without --chaos there is no plan. */
function chaosPlan({ options }: CommandContext): ChaosPlan {
  const text = options.text("chaos");
  if (text === undefined) return [];
  const parsed = parsePlan(text);
  if (parsed.ok) return parsed.plan;
  throw new UsageError(parsed.problem, { next: parsed.next });
}

/** `unkept`: options that no run keeps. */
export const resumeWords = (
  options: OptionValues,
  { folder, unkept }: { folder: string; unkept: readonly OptionSpec[] },
): string[] => ["iota", "swarm", "--data", folder, ...givenWords(options, unkept)];
