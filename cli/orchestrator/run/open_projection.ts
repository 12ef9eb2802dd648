/** The run's projection and signed log, continued from earlier processes. */

import type { OrchestratorEffect } from "../../../core/orchestrator/event.ts";
import type { RunRecord } from "../../../core/protocol/record.ts";
import type { RefusalCounts } from "../../../net/auth/refusals.ts";
import { systemTimers } from "../../../net/timers.ts";
import { verifySignature } from "../../../chain/wallet/hotkey.ts";
import type { CommandContext } from "../../terminal/command.ts";
import { pauseKey } from "../owner/pause_key.ts";
import type { OwnerRequest } from "../owner/owner_request.ts";
import type { RunOwner } from "../owner/run_owner.ts";
import { RunLedger } from "../../observe/ledger/run_ledger.ts";
import { projectionConsumers } from "./consumers.ts";
import { openRecordLog } from "../../observe/projection/record_log.ts";
import { Projection } from "../../observe/projection/projection.ts";
import type { PreparedRun } from "./prepare_run.ts";
import { runFacts } from "./run_facts.ts";

/** Logs are opened after the replay, because the journal's lock comes first. */
export class ReplayedEffects {
  readonly effects: OrchestratorEffect[] = []; // only those that a log may keep

  take(effects: readonly OrchestratorEffect[]): void {
    for (const effect of effects) if (effect.type === "log" || effect.type === "record") this.effects.push(effect);
  }
}

/** From the record log, else from replayed records. */
export async function openProjection(
  { output }: CommandContext,
  options: {
    prepared: PreparedRun;
    layersOfStages: readonly number[];
    startedMs: number;
    refused: () => RefusalCounts;
    owner: () => Pick<RunOwner, "act">;
    replayed: ReplayedEffects;
  },
): Promise<{
  projection: Projection;
  recordedStep: number | null; // null: no log has lines of earlier processes
  ledger: RunLedger;
  onRecord: (record: RunRecord) => void;
  /** `isOurs`: no other process has taken over the run's folder. */
  close: (options: { isOurs: boolean }) => void;
}> {
  const { prepared: { config, folder, found, from, runId, key }, layersOfStages, startedMs: startedAtMs } = options;
  const { refused, owner, replayed: { effects } } = options;
  const warn = (text: string) => output.log.warn(text);
  const records = await openRecordLog({ folder: folder.path, timers: systemTimers, warn });
  const isNew = records.sequence === 0;
  const shownStep = records.view.step;
  const facts = runFacts({ command: "orchestrate", device: "", config, layersOfStages });
  const act = async (request: OwnerRequest) => {
    const answer = await owner().act(request);
    if (!answer.ok) throw new Error(answer.fault.detail);
    return answer.value;
  };
  const projection: Projection = new Projection({
    output,
    keys: [pauseKey({ isPaused: () => projection.view.isPausedByOwner, act })],
    opened: { facts, startedAtMs, step: found?.manifest.step ?? 0 },
    nowMs: () => systemTimers.nowMs(),
    records,
    refused,
    identity: { runId, hub: key.signer.address },
    consumers: projectionConsumers,
  });
  const { signer } = key;
  const ledger = await RunLedger.open({
    ...{ folder: folder.path, run: runId, from, signer, verify: verifySignature, timers: systemTimers, warn },
  });
  const { step: signedStep } = ledger.log;
  const recordedStep = isNew && signedStep === null ? null : Math.max(shownStep, signedStep ?? 0);
  ledger.onReplayed(effects);
  if (isNew) { for (const effect of effects) if (effect.type === "record") projection.keep(effect.record); }
  const onRecord = (record: RunRecord) => {
    projection.tell(record);
    ledger.onRecord(record);
  };
  const close = ({ isOurs }: { isOurs: boolean }) => {
    projection.close();
    ledger.log.close({ writes: isOurs });
  };
  return { projection, ledger, recordedStep, onRecord, close };
}
