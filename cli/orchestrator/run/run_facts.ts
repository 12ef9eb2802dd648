/** What a view is told of a run by the process that runs it: what the run is, and where it is taken up. */

import type { RunConfig } from "../../../core/config/config.ts";
import { modelParameters } from "../../../core/model/shape.ts";
import type { OrchestratorState } from "../../../core/orchestrator/state.ts";
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

/** `recovered`: the state that the journal gave; null: the run begins, or goes on from a checkpoint, with nobody in it. */
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

/** For a run without a journal that had come further than where it begins now; null if nothing is lost. */
export function lostText(
  { recordedStep, step, folder }: { recordedStep: number; step: number; folder: string },
): string | null {
  if (recordedStep <= step) return null;
  const from = step === 0 ? "it begins again at step 0" : `it goes on from its newest checkpoint, at step ${step}`;
  return `The run had reached step ${recordedStep}, but '${folder}/journal.db' is gone: ${from}; to go on from where it was, ` +
    "stop, put the journal and the checkpoints back from a copy, and start again";
}
