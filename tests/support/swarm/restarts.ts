/** What tests of a restarted orchestrator share: a small repeatable run, and its journal in memory. */

import { assert } from "@std/assert";
import type { OrchestratorEffect } from "../../../core/orchestrator/event.ts";
import type { RunRecord } from "../../../core/protocol/record.ts";
import type { RecoveredRun } from "../../../cli/orchestrator/journal/hub_journal.ts";
import { HubJournal } from "../hub_journal.ts";
import { withMemoryFolder } from "../scratch_folder.ts";
import { tinyConfig } from "../tiny_model.ts";

export const config = tinyConfig({
  model: { width: 32, contextLength: 8 },
  train: { steps: 4, stepsPerRound: 2, microbatchesPerStep: 2 },
  deterministic: true,
  pipeline: { codec: "none" },
  swarm: { replicas: 1, validators: 0 },
});
const identity = { run: "local", program: "test", config: "test" };
const maxBytes = 2 ** 28;

export function openJournal(path: string, onReplayed?: (effects: readonly OrchestratorEffect[]) => void) {
  return HubJournal.open({ path, identity, maxBytes, ...(onReplayed === undefined ? {} : { onReplayed }) });
}

export const withJournal = <T>(body: (path: string) => Promise<T>): Promise<T> =>
  withMemoryFolder((folder) => body(`${folder}/journal.db`));

export function present(recovered: RecoveredRun | null): RecoveredRun {
  assert(recovered !== null, "a journal that was begun has a state");
  return recovered;
}

/** The next life of a run, and what its journal says again. */
export function reopen(path: string) {
  const replayed: RunRecord[] = [];
  const { journal, recovered } = openJournal(path, (effects) => {
    for (const effect of effects) if (effect.type === "record") replayed.push(effect.record);
  });
  return { journal, recovered: present(recovered), replayed };
}
