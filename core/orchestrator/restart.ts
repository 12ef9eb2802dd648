/**
 * Restart of the orchestrator with the state of the last process. All members are disconnected until they return
 * (resume.ts) or the grace is over. Deadlines restart: no member is late because the orchestrator was down.
 */

import { type SettingChange, withChanges } from "../settings/change.ts";
import type { BlobRef } from "../ids.ts";
import { setAlarm } from "./alarms.ts";
import { reissueAuditOf } from "./audit/audit_requests.ts";
import { dropWithout } from "./audit/auditing.ts";
import { refereeAgain } from "./audit/referee.ts";
import { type OrchestratorEffect, record } from "./event.ts";
import { returnLeases } from "./step/leases.ts";
import { forgetWires } from "./step/taking_back.ts";
import { noteInterruption } from "./merge/round_length.ts";
import { resumeProbe } from "./merge/losses/failed_uploads.ts";
import { resumeHalt } from "./merge/losses/lost_rounds.ts";
import { lookEffect, openRequests } from "./merge/mending.ts";
import { dropUnlaid } from "./audit/held_out/payload_trials.ts";
import { resumeShowing } from "./audit/shown_states.ts";
import { forgetAbsences } from "./members/blame.ts";
import { setAway } from "./members/replicas.ts";
import { forgetReturns } from "./members/returns.ts";
import { restoreEffect } from "./merge/restoring.ts";
import type { OrchestratorState } from "./state.ts";
import { closingMs } from "./closing.ts";
import { repeatMerge, writeCheckpoint } from "./merge/uploads.ts";

export function onRestarted(
  state: OrchestratorState,
  options: { changes: readonly SettingChange[]; lost: readonly BlobRef[]; nowMs: number },
): OrchestratorEffect[] {
  const { changes, lost, nowMs } = options;
  changeSettings(state, changes);
  const { limits, swarm } = state.config;
  const backMs = nowMs + limits.restartGraceMs;
  state.counters.restarts += 1;
  forgetReturns(state); // nobody's fault
  forgetAbsences(state);
  noteInterruption(state);
  for (const member of state.members.values()) {
    setAway(state, member, backMs);
    member.isCutByHub = true;
    setAlarm(state, { type: "silence", node: member.node, atMs: backMs });
    if (member.leases.size > 0) returnLeases(state, member);
  }
  for (const node of state.validators) reissueAuditOf(state, node);
  const forgotten = forgetSegments(state, lost);
  refereeAgain(state);
  const shown = resumeShowing(state);
  dropUnlaid(state);
  if (state.gatherUntilMs !== null) state.gatherUntilMs = backMs + swarm.gatherMs;
  if (state.closeUntilMs !== null) state.closeUntilMs = backMs + closingMs(state);
  const { step, round } = state;
  return [
    record({ type: "resumed", step, round, nodes: state.members.size, miners: missingMiners(state) }),
    ...forgotten,
    ...shown,
    ...[...state.restoring.keys()].map((stage) => restoreEffect(state, stage)),
    ...resumeMerge(state, { nowMs, backMs }),
    ...resumeProbe(state),
    ...resumeHalt(state, nowMs),
    ...resumeUpload(state, backMs),
  ];
}

/** taking_back.ts decides which work is redone; an audit without its wires is impossible. */
function forgetSegments(state: OrchestratorState, lost: readonly BlobRef[]): OrchestratorEffect[] {
  const hashes = new Set<string>(lost.map(({ hash }) => hash));
  forgetWires(state, hashes);
  return dropWithout(state, hashes);
}

/** How many members must join, besides those that may return, before training can start. */
function missingMiners(state: OrchestratorState): number {
  const { config, phase, rosters, step } = state;
  if (phase === "closing" || step >= config.train.steps) return 0;
  const wanted = phase === "gathering" ? config.swarm.replicas : 1;
  return rosters.reduce((sum, { assigned }) => sum + Math.max(wanted - assigned, 0), 0);
}

/** A restart may also ask for more steps while the run's last round is being stored. */
export function changeSettings(state: OrchestratorState, changes: readonly SettingChange[]): OrchestratorEffect[] {
  state.config = withChanges(state.config, changes);
  if (state.phase !== "closing" || state.step >= state.config.train.steps) return [];
  state.phase = "training";
  state.closeUntilMs = null;
  return [];
}

const returnMs = 10_000; // most nodes come back within this time

/** A phase with a quorum waits only for most nodes to return; otherwise it waits for all that may. */
function resumeMerge(
  state: OrchestratorState,
  { nowMs, backMs }: { nowMs: number; backMs: number },
): OrchestratorEffect[] {
  const { mergePhaseMs, mergeGraceMs } = state.config.limits;
  const effects: OrchestratorEffect[] = [];
  for (const merge of state.merge?.stages ?? []) {
    merge.deadlineMs = merge.hasQuorum ? nowMs + Math.max(mergeGraceMs, returnMs) : backMs + mergePhaseMs;
    merge.phaseStartedMs = backMs; // the time without an orchestrator was not a replica's fault
    effects.push(...openRequests(state, { merge, reducer: "hub" }));
    if (merge.mend === "looking") effects.push(lookEffect(state, merge));
  }
  return effects;
}

function resumeUpload(state: OrchestratorState, backMs: number): OrchestratorEffect[] {
  const { upload } = state;
  if (upload === null) return [];
  if (upload.writing) return [writeCheckpoint(upload)];
  const effects: OrchestratorEffect[] = [];
  for (const stage of upload.stages) {
    if (stage.stored || stage.asked === null) continue;
    stage.deadlineMs = backMs + state.config.limits.mergePhaseMs;
    if (stage.asked === "hub") effects.push(repeatMerge(state, stage));
  }
  return effects;
}
