/** The owner's control of a run, with earlier processes' decisions. */

import { changesBetween } from "../../../core/settings/change.ts";
import type { RunRecord } from "../../../core/protocol/record.ts";
import { setImmediate } from "node:timers";
import { readOwnerDecisions } from "../owner/owner_file.ts";
import { RunOwner } from "../owner/run_owner.ts";
import type { CommandContext } from "../../terminal/command.ts";
import type { RunningOrchestrator } from "../hub/running_orchestrator.ts";
import { type PreparedRun, saveResumedRun } from "./prepare_run.ts";
import type { ServedAt } from "../../address/public_address.ts";

interface OwnerParts {
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
