/**
 * A stage that a miner could not load: is its blob still in the store? If it is not, the shell brings the stage back, from the
 * checkpoint of the same round, from its neighbours, or from the seed, and the run says so.
 *
 * While that is going on nobody is sent to the stage. Replicas that hold the stage are worth more than anything restored: then
 * newcomers wait for the next round's upload.
 */

import { fault } from "../fault.ts";
import type { StageIndex } from "../ids.ts";
import type { LoadFailed, ParameterSource } from "../protocol/message.ts";
import { type OrchestratorEffect, record } from "./event.ts";
import { rosterOf } from "./replicas.ts";
import { benchMember } from "./roster_changes.ts";
import type { Member, OrchestratorState } from "./state.ts";

/** Where a stage's parameters were found or what they were made of. */
export type Restored = "stored" | "checkpoint" | "neighbours" | "initial";

const mostFailures = 3; // of one miner in a row; then it is sent away

export function onLoadFailed(
  state: OrchestratorState,
  { member, message }: { member: Member; message: LoadFailed },
): OrchestratorEffect[] {
  if (member.status !== "loading" || message.assignment !== member.assignment || member.stage === null) return [];
  const { node, stage } = member;
  member.loadFailures += 1;
  benchMember(state, member);
  const seen = record({ type: "faultSeen", node, ...message.fault });
  if (member.loadFailures >= mostFailures) {
    const reason = fault("badBlob", `Cannot keep this node as it could not load its stage ${mostFailures} times`);
    return [seen, { type: "disconnect", node, fault: reason }];
  }
  if (state.restoring.has(stage)) return [seen];
  state.restoring.add(stage);
  return [seen, restoreEffect(state, stage)];
}

export function restoreEffect(state: OrchestratorState, stage: StageIndex): OrchestratorEffect {
  const { round, stages } = state.sources;
  return { type: "restoreStage", round, stage, sources: stages, gradientSquares: [...state.gradientSquares] };
}

export function onStageRestored(
  state: OrchestratorState,
  options: { round: number; stage: StageIndex; source: ParameterSource; from: Restored },
): OrchestratorEffect[] {
  const { round, stage, source, from } = options;
  if (round !== state.sources.round || !state.restoring.has(stage)) return [];
  if (from === "stored" || from === "checkpoint") {
    state.restoring.delete(stage);
    return from === "stored" ? [] : [record({ type: "stageRestored", round, stage, from })];
  }
  if (rosterOf(state, stage).members.length > 0) return []; // they upload what they have at the end of the round
  state.restoring.delete(stage);
  state.sources = { round, stages: state.sources.stages.map((old, index) => index === stage ? source : old) };
  return [record({ type: "stageRestored", round, stage, from })];
}
