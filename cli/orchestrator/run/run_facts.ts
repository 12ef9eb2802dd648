/** What the running process tells a view about the run. */

import type { RunConfig } from "../../../core/config/config.ts";
import { modelParameters } from "../../../core/model/shape.ts";
import type { OrchestratorState } from "../../../core/orchestrator/state.ts";
import type { RunFolder } from "../../files/run_folder.ts";
import type { RecordOf, RunFacts } from "../../../core/view/view_record.ts";

export function runFacts(
  options: { command: string; device: string; config: RunConfig; layersOfStages: readonly number[] },
): RunFacts {
  const { command, device, config, layersOfStages } = options;
  return {
    command,
    run: config.name,
    size: config.size,
    parameters: modelParameters(config.model),
    device,
    steps: config.train.steps,
    stepsPerRound: config.train.stepsPerRound,
    layersOfStages,
  };
}

export function takenUp(
  { step, round }: { readonly step: number; readonly round: number },
  recovered: OrchestratorState | null,
): RecordOf<"takenUp"> {
  if (recovered === null) return { type: "takenUp", step, round, nodes: [] };
  const { phase, members } = recovered;
  const nodes = Array.from(members.values(), ({ node, role, stage, status }) => {
    return { node, role, stage, isReady: status === "active" };
  });
  return { type: "takenUp", step, round, phase: phase === "closing" ? "training" : phase, nodes };
}

/** For a run without a journal that, by its records, log, summary or mark, had come further. Null: nothing is lost. */
export function lostText(
  { hadJournal, recordedStep, toldStep, begun: { step }, folder: { path, isResumed } }: {
    readonly hadJournal: boolean; // then its recovery reports the loss
    readonly recordedStep: number | null;
    readonly toldStep: number | null;
    readonly begun: { readonly step: number };
    readonly folder: RunFolder;
  },
): string | null {
  if (hadJournal || !isResumed) return null;
  const next = "stop, restore the journal and the checkpoints from a copy, and start again";
  const isUntold = recordedStep === null && toldStep === null;
  if (isUntold && step === 0) {
    return `'${path}' has a run's settings, but no journal, no checkpoint and no record of it: it begins at step 0; ` +
      `if it had trained before, ${next}`;
  }
  const reached = Math.max(recordedStep ?? 0, toldStep ?? 0);
  if (reached <= step) return null;
  const why = step === 0
    ? `but '${path}' has neither its journal nor a checkpoint: it begins again at step 0`
    : `but '${path}/journal.db' is gone: it goes on from its newest checkpoint, at step ${step}`;
  return `The run had reached step ${reached}, ${why}; to go on from where it was, ${next}`;
}
