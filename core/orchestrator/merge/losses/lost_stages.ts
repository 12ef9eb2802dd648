/**
 * A stage of a merge of which nothing can be merged, and why.
 *
 * Owns: the reasons in words, for the run's owner. Out of scope: what follows for the round (lost_rounds.ts).
 */

import type { StageIndex } from "../../../ids.ts";
import type { OrchestratorEffect } from "../../event.ts";
import type { OrchestratorState } from "../../state.ts";
import { enter } from "../merge_phase.ts";
import type { StageMerge } from "../merge_state.ts";

export interface LostStage {
  readonly stage: StageIndex;
  readonly reason: string;
}

export const gone = "its payloads are missing from the orchestrator's store or damaged there";
export const unusable = "its payloads could not be combined";

/** The stage's payloads are of no use: it waits for the others to come to the same or to an end. */
export function loseStage(
  state: OrchestratorState,
  { merge, because, nowMs }: { merge: StageMerge; because: string; nowMs: number },
): OrchestratorEffect[] {
  const entered = enter(state, { merge, phase: "reducing", nowMs });
  merge.lostBecause = because;
  merge.slices = [];
  merge.openSlices = 0;
  merge.refereed = null;
  merge.isHubAsked = false;
  return [entered];
}

/** Why a stage has no payload when it has waited long enough. */
export function whyEmpty({ failures, replicas, hadWork }: StageMerge): string {
  const [first] = failures;
  if (first !== undefined) {
    return failures.size === 1
      ? `${first[0]}: ${first[1]}`
      : `${failures.size} miners, such as ${first[0]}: ${first[1]}`;
  }
  if (replicas === 0) return "no miner was left";
  return hadWork ? "its miners delivered no payload" : "none of its miners had trained in the round";
}

/** The stages of the open merge that are lost, once every stage has the payloads that it will get. */
export function lostStages({ merge }: OrchestratorState): LostStage[] {
  const stages = merge?.stages ?? [];
  if (stages.some(({ phase }) => phase === "committing")) return [];
  return stages.flatMap(({ stage, lostBecause }) => lostBecause === null ? [] : [{ stage, reason: lostBecause }]);
}
