/** Everything that follows from the state after an event: phases first, then work for free replicas. */

import { assert } from "../assert.ts";
import { requestAudits } from "./audit/audit_requests.ts";
import { settleRounds } from "./audit/auditing.ts";
import { offerTrials } from "./audit/held_out/payload_trials.ts";
import { refereeNext } from "./audit/referee.ts";
import { leaseWork } from "./step/dispatch.ts";
import { settleDisputes } from "./audit/held_out/evaluations.ts";
import type { OrchestratorEffect } from "./event.ts";
import { expelConvicted, restWithholders } from "./members/expulsion.ts";
import { dismissDeparted } from "./members/departing.ts";
import { activateCaughtUp, askToFollow } from "./members/catching_up.ts";
import { mendMerges } from "./merge/mending.ts";
import { advanceMerge, startMerge } from "./merge/merging.ts";
import { roundIsOver } from "./merge/round_length.ts";
import { coverStages } from "./members/rebalance.ts";
import { restoreAbandoned } from "./merge/restoring.ts";
import { restartRound, retakeRound } from "./merge/retake.ts";
import { continueHalted, repeatLostRound } from "./merge/losses/lost_rounds.ts";
import { repeatLostProgress } from "./merge/losses/lost_progress.ts";
import { assignWaiting, beginWhenGathered } from "./members/roster.ts";
import { closeRun, closingMs } from "./closing.ts";
import { finishRound } from "./merge/rounds.ts";
import { requestSeals } from "./step/sealing.ts";
import type { OrchestratorState } from "./state.ts";
import { closeStep } from "./step/close_step.ts";
import { continueUpload } from "./merge/uploads.ts";
import { openStep } from "./step/wiring.ts";
import { sendNotices } from "./members/notices.ts";
import { abandonStep } from "./merge/rewind.ts";

/** The most phases in a row without an event in between; more is a loop. */
const mostTurns = 64;

export function advance(state: OrchestratorState, nowMs: number): OrchestratorEffect[] {
  if (state.phase === "finished") return sendNotices(state);
  const effects = [
    ...settleDisputes(state),
    ...retakeRound(state),
    ...restartRound(state),
    ...continueHalted(state, nowMs),
    ...repeatLostProgress(state),
    ...endWhenDone(state, nowMs),
    ...coverStages(state, nowMs),
    ...restoreAbandoned(state),
    ...assignWaiting(state, nowMs),
    ...activateCaughtUp(state),
    ...beginWhenGathered(state, nowMs),
  ];
  for (let turns = 0;; turns++) {
    assert(turns < mostTurns, "phases come to rest");
    const moved = [
      ...openWork(state, nowMs),
      ...closeStep(state, nowMs),
      ...advanceMerge(state, nowMs),
      ...repeatLostRound(state, nowMs),
      ...expelConvicted(state, nowMs),
      ...restWithholders(state, nowMs),
      ...coverStages(state, nowMs), // a member just dismissed may have been the last of its stage
      ...assignWaiting(state, nowMs),
      ...mendMerges(state),
      ...finishRound(state, nowMs),
      ...dismissDeparted(state, nowMs),
    ];
    effects.push(...moved);
    if (moved.length === 0) break;
  }
  effects.push(
    ...continueUpload(state, nowMs),
    ...askToFollow(state, nowMs),
    ...leaseWork(state, nowMs),
    ...requestSeals(state, nowMs),
  );
  offerTrials(state);
  effects.push(...requestAudits(state, nowMs), ...refereeNext(state), ...settleRounds(state));
  return [...effects, ...closeRun(state, nowMs), ...sendNotices(state)];
}

function openWork(state: OrchestratorState, nowMs: number): OrchestratorEffect[] {
  if (state.phase !== "training" || state.work !== null || state.losses.halt !== null) return [];
  if (roundIsOver(state)) return state.upload === null ? startMerge(state, nowMs) : [];
  return openStep(state, nowMs);
}

/**
 * Ends a run whose settings now allow no more steps. In the middle of a round the merge follows as at a normal end;
 * between two rounds the run closes, whichever members are present.
 */
function endWhenDone(state: OrchestratorState, nowMs: number): OrchestratorEffect[] {
  if (state.phase !== "gathering" && state.phase !== "training") return [];
  if (state.step < state.config.train.steps) return [];
  const abandoned = abandonStep(state);
  if (state.step > state.roundFirstStep) return abandoned;
  state.phase = "closing";
  state.gatherUntilMs = null;
  state.closeUntilMs = nowMs + closingMs(state);
  return abandoned;
}
