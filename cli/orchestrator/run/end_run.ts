/** A started run until it ends: summary, exit code, and what is closed and kept. */

import type { OrchestratorState } from "../../../core/orchestrator/state.ts";
import { BlobError } from "../../../net/blobs/blobs.ts";
import { systemTimers } from "../../../net/timers.ts";
import { JournalError } from "../../files/journal_error.ts";
import { hasLostRound, runSummary, saveSummary, sessionFields } from "../../observe/run_summary.ts";
import { nextLines } from "../../observe/screen/next_lines.ts";
import { explainRefusal, Terminated, UserError } from "../../program/errors.ts";
import { shellWord, shellWords } from "../../program/shell_words.ts";
import type { CommandContext } from "../../terminal/command.ts";
import type { PreparedRun } from "./prepare_run.ts";
import { removeJournal, userError as journalError } from "./recover_run.ts";
import type { StartedRun } from "./start_run.ts";

export async function untilTheEnd(
  context: CommandContext,
  options: { prepared: PreparedRun; run: StartedRun; interruption: AbortSignal; startedMs: number },
): Promise<{ code: number; finished: boolean }> {
  const { prepared, run, interruption, startedMs } = options;
  const onAbort = () => run.role.stop("interrupted");
  interruption.addEventListener("abort", onAbort);
  if (interruption.aborted) onAbort();
  const { path } = prepared.folder;
  let isOver = false; // then the run can resume only from a checkpoint
  let isOurs = true;
  try {
    const result = await Promise.race([run.role.finished, run.chainFailed]);
    if (result.finished) await Promise.race([run.followers.samples.finish(), run.chainFailed]);
    run.followers.measures.tellTraffic();
    const summary = runSummary({
      state: run.role.state,
      traffic: run.role.traffic,
      view: run.projection.view,
      dataset: prepared.dataset,
      folder: path,
      startedMs,
      firstStepAtMs: run.followers.measures.firstStepAtMs,
      endedMs: systemTimers.nowMs(),
      begun: run.begun,
      isFinished: result.finished,
      trainedTokens: run.followers.measures.trained.total,
    });
    run.projection.close();
    for (const [node, sums] of run.role.traffic.nodes) context.output.event({ type: "traffic", node, ...sums });
    const { output, environment } = context;
    const next = { environment, paint: output.paint, config: prepared.config, folder: path };
    output.summary(
      output.mode === "json" ? summary : { ...summary, sessionFields: sessionFields(run.begun) },
      result.finished ? nextLines(next) : [],
    );
    const { upload } = run.role.state;
    isOver = result.finished && upload === null;
    if (result.finished && upload !== null) {
      context.output.log.warn(
        `Round ${upload.round} could not be stored as a checkpoint; its journal is kept`,
      );
    }
    await saveSummary(summary, { folder: path, warn: (text) => context.output.log.warn(text) });
    if (!result.finished) context.output.log.warn(stoppedText(run.role.state, { reason: result.reason, folder: path }));
    const isAsked = run.owner.hasStopped || interruption.reason instanceof Terminated;
    return { code: result.finished || (isAsked && !hasLostRound(summary)) ? 0 : 1, finished: result.finished };
  } catch (error) {
    isOurs = !(error instanceof JournalError && error.code === "fenced");
    throw explainStorage(error, path);
  } finally {
    await run.close({ isOver, isOurs });
    if (isOver) await removeJournal(path);
    prepared.dataset.close();
    prepared.lock.close();
  }
}

/** What was saved before the disk error is whole. */
function explainStorage(error: unknown, path: string): unknown {
  const next = `Make room, then resume the run with --data ${shellWord(path)}`;
  if (error instanceof JournalError) return journalError(error, path);
  if (error instanceof BlobError) return new UserError(error.message, { next, cause: error });
  return explainRefusal(error, { action: "keep the run on disk", value: path }) ?? error;
}

function stoppedText({ step, config }: OrchestratorState, from: { reason: string; folder: string }): string {
  const { reason, folder } = from;
  return `Stopped (${reason}) after step ${step} of ${config.train.steps}; miners and validators wait for this orchestrator; ` +
    `resume at this step with: ${shellWords(["iota", "orchestrate", "--data", folder])}`;
}
