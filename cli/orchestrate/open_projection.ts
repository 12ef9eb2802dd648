/** An orchestrator's projection: what shows, stores and serves the run's records, continued from the record log of earlier processes. */

import type { OrchestratorEffect } from "../../core/orchestrator/event.ts";
import type { RefusalCounts } from "../../net/auth/refusals.ts";
import { systemTimers } from "../../net/timers.ts";
import type { CommandContext } from "../command.ts";
import { openRecordLog } from "../projection/record_log.ts";
import { Projection } from "../projection/projection.ts";
import type { PreparedRun } from "./prepare_run.ts";
import { runFacts } from "./run_facts.ts";

/** The view starts from the record log, or without one from the records that the journal replays. */
export async function openProjection(
  { output }: CommandContext,
  options: {
    prepared: PreparedRun;
    layersOfStages: readonly number[];
    startedMs: number;
    refused: () => RefusalCounts;
  },
): Promise<{
  projection: Projection;
  recordedStep: number; // by earlier processes, of a run that has not ended
  onReplayed: (effects: readonly OrchestratorEffect[]) => void;
}> {
  const { prepared: { config, folder, found, runId, key }, layersOfStages, startedMs: startedAtMs, refused } = options;
  const warn = (text: string) => output.log.warn(text);
  const records = await openRecordLog({ folder: folder.path, timers: systemTimers, warn });
  const recordedStep = records.view.phase === "finished" ? 0 : records.view.step;
  const facts = runFacts({ command: "orchestrate", device: "", config, layersOfStages });
  const projection = new Projection({
    output,
    opened: { facts, startedAtMs, step: found?.manifest.step ?? 0 }, // until the journal is read
    nowMs: () => systemTimers.nowMs(),
    records,
    refused,
    identity: { runId, hub: key.signer.address },
  });
  const onReplayed = (effects: readonly OrchestratorEffect[]) => {
    if (records.sequence > 0) return;
    for (const effect of effects) if (effect.type === "record") projection.keep(effect.record);
  };
  return { projection, recordedStep, onReplayed };
}
