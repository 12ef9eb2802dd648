/**
 * A node that returns with a new session and reports what it still holds. An active replica that has applied every step
 * header but possibly the last is kept: messages lost in transit are sent again, unanswered requests are repeated, and
 * no gradient is lost. Returning too often (returns.ts) gains no time.
 */

import { present } from "../../assert.ts";
import type { TaskId } from "../../ids.ts";
import type { Holding } from "../../protocol/message.ts";
import { type OrchestratorEffect, record, send } from "../event.ts";
import { owedAgain } from "../audit/shown_states.ts";
import { noteWithheld } from "./blame.ts";
import { returnLeases } from "../step/leases.ts";
import { reissueCredited } from "../step/taking_back.ts";
import type { StageMerge } from "../merge/merge_state.ts";
import { openRequests } from "../merge/mending.ts";
import { setBack } from "./replicas.ts";
import { hasComeBackOften, noteHandBack, noteReturn } from "./returns.ts";
import type { Member, OrchestratorState, SentHeader } from "../state.ts";
import { askForSeal } from "../step/sealing.ts";
import type { SealRequest } from "../step/step_state.ts";

export function mayResume(
  state: OrchestratorState,
  { member, holding }: { member: Member; holding: Holding | null },
): boolean {
  if (holding === null || member.status !== "active" || member.assignment !== holding.assignment) return false;
  if (holding.round === state.round + 1) { // it took the outer step; its message was lost, or others are behind
    const phase = mergeOf(state, member)?.phase;
    return phase === "applying" || phase === "agreed";
  }
  const { header } = member;
  return holding.round === state.round && (holding.step === (header?.step ?? null) || holding.step === header?.before);
}

function mergeOf(state: OrchestratorState, member: Member): StageMerge | null {
  const merge = member.stage === null ? undefined : state.merge?.stages[member.stage];
  return merge?.participants.has(member.node) ? merge : null;
}

export function resumeMember(
  state: OrchestratorState,
  { member, holding, nowMs }: { member: Member; holding: Holding; nowMs: number },
): OrchestratorEffect[] {
  const { node } = member;
  const { config, layersOfStages } = state;
  const missed = missedHeader(member, holding);
  const held = new Set<TaskId>(missed === null ? holding.tasks : []);
  const gone = member.stepTasks.filter((task) => !held.has(task));
  setBack(state, member);
  noteReturn(state, member);
  const isFree = gone.length + member.leases.size === 0 || noteHandBack(state, member);
  const isOften = hasComeBackOften(state, member) || !isFree;
  if (isOften && member.leases.size > 0) noteWithheld(state, { node, duty: "tasks" });
  if (!isFree || (isOften && gone.length > 0)) noteWithheld(state, { node, duty: "confirming" });
  const asked = state.work?.asked.get(node);
  const tasksReissued = returnLeases(state, member, { isAvoided: isOften }) +
    reissueCredited(state, { member, tasks: gone, avoid: isOften ? node : null });
  if (isOften && asked !== undefined) keepAsked(state, { member, asked });
  const effects: OrchestratorEffect[] = [
    send(node, {
      type: "welcome",
      config,
      layersOfStages,
      isKept: true,
      shows: owedAgain(state, member).filter((step) => step !== missed?.step), // its own header asks for that one
    }),
    record({ type: "nodeResumed", node, stage: present(member.stage, "an active member has a stage"), tasksReissued }),
  ];
  if (missed !== null) {
    const { step, tasks, learningRate, clipFactor, shows } = missed;
    effects.push(send(node, { type: "applyStep", step, tasks, learningRate, clipFactor, shows }));
  }
  const { work, upload } = state;
  if (work?.asked.has(node) === true && !work.sealed.has(node)) effects.push(askForSeal(state, { member, nowMs }));
  effects.push(...repeatMergeRequests(state, member));
  if (upload?.stages.some((stage) => stage.asked === node && !stage.stored)) {
    effects.push(send(node, { type: "uploadParameters", round: upload.round }));
  }
  return effects;
}

/** Asks for fewer tasks than before, with the same deadline. */
function keepAsked(state: OrchestratorState, { member, asked }: { member: Member; asked: SealRequest }): void {
  const { work } = state;
  if (work === null || member.stepTasks.length === 0) return;
  work.asked.set(member.node, asked);
  if (member.stage !== null) work.idle[member.stage]?.delete(member.node);
}

function missedHeader(member: Member, holding: Holding): SentHeader | null {
  const { header } = member;
  return header === null || holding.step === header.step ? null : header;
}

function repeatMergeRequests(state: OrchestratorState, member: Member): OrchestratorEffect[] {
  const merge = mergeOf(state, member);
  const { node } = member;
  if (merge === null || !merge.owing.has(node)) return [];
  return openRequests(state, { merge, reducer: node });
}
