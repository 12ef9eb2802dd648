/** Stages without a connected miner, not even a loading one: the run waits for them. */

import type { StageIndex } from "../../ids.ts";
import { type OrchestratorEffect, record } from "../event.ts";
import type { OrchestratorState } from "../state.ts";

/** In order; empty before training and after the last merge. */
export function unservedStages(state: OrchestratorState): StageIndex[] {
  if (!isTraining(state)) return [];
  const empty = state.stages.filter(({ index }) => state.rosters[index]?.present === 0);
  if (empty.length === 0) return [];
  const loaded = loadedStages(state);
  return empty.flatMap(({ index }) => loaded.has(index) ? [] : [index]);
}

/** Stages that connected miners load or will load; after a round that restarts, all of them. */
function loadedStages({ members, catchingUp, waiting }: OrchestratorState): Set<StageIndex> {
  const stages = new Set<StageIndex>();
  for (const node of [...catchingUp.keys(), ...waiting]) {
    const member = members.get(node);
    if (member !== undefined && member.stage !== null && member.graceUntilMs === null) stages.add(member.stage);
  }
  return stages;
}

/** `before`: the list that was recorded last. */
export function recordUnserved(state: OrchestratorState, before: readonly StageIndex[]): OrchestratorEffect[] {
  if (!isTraining(state)) return [];
  const stages = unservedStages(state);
  const isSame = stages.length === before.length && stages.every((stage, at) => stage === before[at]);
  return isSame ? [] : [record({ type: "stagesUnserved", stages })];
}

const isTraining = ({ phase }: OrchestratorState): boolean => phase === "training" || phase === "merging";
