/**
 * Stages that no connected miner serves: the run waits for them.
 *
 * Owns: the record of their list, whenever it changes. Out of scope: what is done about them (rebalance.ts, roster.ts).
 */

import type { StageIndex } from "../../ids.ts";
import { type OrchestratorEffect, record } from "../event.ts";
import type { OrchestratorState } from "../state.ts";

/** In order; empty before training and after the last merge. */
export function unservedStages(state: OrchestratorState): StageIndex[] {
  if (!isTraining(state)) return [];
  return state.stages.flatMap(({ index }) => state.rosters[index]?.present === 0 ? [index] : []);
}

/** `before`: the list that was recorded last. */
export function recordUnserved(state: OrchestratorState, before: readonly StageIndex[]): OrchestratorEffect[] {
  if (!isTraining(state)) return [];
  const stages = unservedStages(state);
  const isSame = stages.length === before.length && stages.every((stage, at) => stage === before[at]);
  return isSame ? [] : [record({ type: "stagesUnserved", stages })];
}

const isTraining = ({ phase }: OrchestratorState): boolean => phase === "training" || phase === "merging";
