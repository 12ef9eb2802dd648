/**
 * When all miners of a stage that trained in the open round are gone, nobody holds what the stage learned in it: the
 * run rolls back to the round's first step.
 *
 * Between two merges this happens a few times only, so that a miner that keeps leaving cannot keep a run from merging.
 * Then the round continues without these steps; `tasksLost` of its record `roundMerged` counts them. Out of scope: a
 * round that all miners have left (../rewind.ts), a stage lost in the merge (lost_rounds.ts).
 */

import type { StageIndex } from "../../../ids.ts";
import { plural } from "../../../plural.ts";
import { type OrchestratorEffect, record } from "../../event.ts";
import { reach } from "../../marks.ts";
import type { OrchestratorState } from "../../state.ts";
import { beginAnew, mayRestart, mostRestarts, retaken } from "../retake.ts";
import { rewindWhenLost } from "../rewind.ts";

export const repeatLostProgress = (state: OrchestratorState): OrchestratorEffect[] => [
  ...rewindWhenLost(state),
  ...repeatLostStages(state),
];

function repeatLostStages(state: OrchestratorState): OrchestratorEffect[] {
  const { lostProgress, phase, sources, round } = state;
  if (lostProgress.size === 0 || phase !== "training" || sources.round !== round) return []; // still being stored
  const stages = [...lostProgress].sort((a, b) => a - b);
  lostProgress.clear();
  const because = "minersLost";
  if (!mayRestart(state, because)) return [giveUp(state, stages)];
  const { effects, tokens } = beginAnew(state);
  const lost = stages.map((stage) => ({ stage, reason: "the miners that trained it in the round are gone" }));
  return [...effects, retaken(state, { because, tokens, stages: lost })];
}

function giveUp(state: OrchestratorState, stages: readonly StageIndex[]): OrchestratorEffect {
  reach(state, "lost progress: the round goes on without it");
  const { roundFirstStep, step, round } = state;
  const steps = step - roundFirstStep;
  const text =
    `Stage ${stages.join(", ")} of round ${round} has lost its miners and what they learned in ${
      plural(steps, "step")
    }; ` +
    `the round has restarted ${mostRestarts} times for that and now continues without it`;
  return record({ type: "warning", text });
}
