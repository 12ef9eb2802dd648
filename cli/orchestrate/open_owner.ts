/** The hand of a run's owner in its orchestrator, with what earlier processes were told. */

import { changesBetween } from "../../core/config/change.ts";
import type { RunRecord } from "../../core/protocol/record.ts";
import { setImmediate } from "node:timers";
import { readOwnerDecisions } from "../admin/owner_file.ts";
import { RunOwner } from "../admin/run_owner.ts";
import type { CommandContext } from "../command.ts";
import type { RunningOrchestrator } from "../hub/running_orchestrator.ts";
import { type PreparedRun, saveResumedRun, type ServedAt } from "./prepare_run.ts";

export interface OwnerParts {
  readonly prepared: PreparedRun;
  readonly at: ServedAt;
  readonly role: () => RunningOrchestrator;
  readonly tell: (record: RunRecord) => void;
}

export async function openOwner(context: CommandContext, { prepared, at, role, tell }: OwnerParts): Promise<RunOwner> {
  const { path } = prepared.folder;
  let { config: saved } = prepared;
  return new RunOwner({
    ...{ folder: path, decisions: await readOwnerDecisions(path), role, tell },
    saveSettings: async (config) => {
      const resumed = { ...prepared, config, changes: changesBetween(saved, config) };
      const folder = { ...prepared.folder, isResumed: true };
      await saveResumedRun(context, { ...resumed, folder }, { at, step: role().state.step });
      saved = config;
    },
    later: (callback) => setImmediate(callback),
  });
}
