/** Enters the next phase of a stage's merge: pending answers are void, the deadline restarts. */

import { type OrchestratorEffect, record } from "../event.ts";
import type { MergePhase, StageMerge } from "./merge_state.ts";
import type { OrchestratorState } from "../state.ts";

export function enter(
  state: OrchestratorState,
  options: { merge: StageMerge; phase: MergePhase; nowMs: number },
): OrchestratorEffect {
  const { merge, phase, nowMs } = options;
  const lastedMs = nowMs - merge.phaseStartedMs;
  if (merge.phase === "committing") merge.committedInMs = lastedMs;
  if (merge.phase === "applying") merge.appliedInMs = lastedMs;
  merge.phase = phase;
  merge.owing.clear();
  merge.unjudged.length = 0;
  for (const nodes of [merge.doubters, merge.doubted, merge.showing]) nodes.clear();
  merge.mend = null;
  merge.hasQuorum = false;
  merge.phaseStartedMs = nowMs;
  merge.deadlineMs = nowMs + state.config.limits.mergePhaseMs;
  return phaseRecord(state, merge);
}

export function phaseRecord(state: OrchestratorState, merge: StageMerge): OrchestratorEffect {
  return record({ type: "mergePhase", round: state.round, stage: merge.stage, phase: merge.phase });
}
