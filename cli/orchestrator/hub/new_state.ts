/** The state of a run that no journal holds: from a checkpoint, or from step 0, after the rounds that its signed log knows. */

import { secretKeyBytes } from "../../../core/chacha.ts";
import { parameterTable } from "../../../core/model/spec.ts";
import { openAfter } from "../../../core/orchestrator/past_rounds.ts";
import type { OrchestratorState } from "../../../core/orchestrator/state.ts";
import type { OrchestratorRoleOptions } from "./running_orchestrator.ts";

const noPast = { reports: [], expelled: [] };

export function newState(options: OrchestratorRoleOptions): OrchestratorState {
  const { config, stages, layersOfStages, from, past = noPast, timers, random } = options;
  const opening = {
    config,
    stages,
    layersOfStages,
    stageFloats: stages.map((spec) => parameterTable(spec).length),
    ...(from === undefined ? {} : { from }),
    secret: random.bytes(secretKeyBytes),
    nowMs: timers.steadyMs(),
  };
  return openAfter(opening, past);
}
