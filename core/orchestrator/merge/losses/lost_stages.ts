/**
 * Stages without anything to merge or with parameters that cannot be stored, and the reasons in words for the run's
 * owner.
 */

import type { Fault, RefusedUpload } from "../../../fault.ts";
import type { NodeId, StageIndex } from "../../../ids.ts";
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

export function whyEmpty(state: OrchestratorState, merge: StageMerge): string {
  const { failures, replicas, hadWork, tasks, participants } = merge;
  const [first] = failures.values();
  if (first !== undefined) return failures.size === 1 ? first : `${failures.size} miners failed; the first: ${first}`;
  if (replicas === 0) return "no miner was left";
  if (!hadWork) return "none of its miners had trained in the round";
  const isHere = (node: NodeId) => participants.has(node) && state.members.get(node)?.graceUntilMs === null;
  const here = [...tasks.keys()].filter(isHere).length;
  const trained = `${tasks.size === 1 ? "only miner" : `${tasks.size} miners`} that had trained in the round`;
  if (here === 0) return `the ${trained} left or lost the connection before a payload came`;
  if (here === tasks.size) return "no payload came in time";
  return `of the ${trained}, ${tasks.size - here} left or lost the connection, and no payload of the rest came in time`;
}

const clocksApartMs = 5000; // an answer's date has whole seconds

/** In this program's words, because anyone may read them: a miner's own text stays in the log. */
export function failureText({ code, upload }: Fault): string {
  return upload === undefined ? `its miner failed with the fault '${code}'` : uploadText(upload);
}

export function uploadText({ status, bytes, clockMs }: RefusedUpload): string {
  const sent = `an upload of ${bytes.toLocaleString("en-US")} bytes`;
  if (status === null) return `${sent} got no answer`;
  const isRefusedProof = status === 401 || status === 403;
  const apart = isRefusedProof && Math.abs(clockMs) > clocksApartMs
    ? `; the orchestrator's clock is ${durationText(Math.abs(clockMs))} ${
      clockMs > 0 ? "ahead of" : "behind"
    } the miner's`
    : "";
  return `${sent} was answered with HTTP ${status}${apart}`;
}

const durationText = (ms: number): string =>
  ms < 120_000 ? `${Math.round(ms / 1000)} s` : `${Math.round(ms / 60_000)} min`;

/** Empty until every stage has the payloads that it will get. */
export function lostStages({ merge }: OrchestratorState): LostStage[] {
  const stages = merge?.stages ?? [];
  if (stages.some(({ phase }) => phase === "committing")) return [];
  return lostOf(stages);
}

export const lostOf = (stages: readonly Pick<StageMerge, "stage" | "lostBecause">[]): LostStage[] =>
  stages.flatMap(({ stage, lostBecause }) => lostBecause === null ? [] : [{ stage, reason: lostBecause }]);
