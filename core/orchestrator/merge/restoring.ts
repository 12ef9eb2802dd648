/**
 * Restores a stage whose blob the store lost: from the round's checkpoint, or the run rolls back to an earlier one;
 * without any, from its neighbours or the seed.
 *
 * Meanwhile no miner is assigned to it. Replicas that hold it are worth more than anything restored: one uploads it
 * again; if that fails, newcomers wait for the next round's upload. Replacing a stage makes earlier work unfit for
 * audits.
 */

import { fault } from "../../fault.ts";
import type { StageIndex } from "../../ids.ts";
import type { LoadFailed, ParameterSource } from "../../protocol/message.ts";
import type { ParametersUploaded } from "../../protocol/merge_messages.ts";
import { dropReplays } from "../audit/auditing.ts";
import { type OrchestratorEffect, type OrchestratorEvent, record, send } from "../event.ts";
import { hubMergesAgain, mergeOfHub } from "./hub_merge.ts";
import { reach } from "../marks.ts";
import { isSameStage, type StageMerge } from "./merge_state.ts";
import { abandonPaths } from "../members/catching_up.ts";
import { rosterOf } from "../members/replicas.ts";
import { benchMember } from "../members/roster_changes.ts";
import type { Member, OrchestratorState } from "../state.ts";
import { blobsOf, deleteUnused } from "../stored_blobs.ts";
import { onTooLarge } from "../members/unfit.ts";
import { goBackToEarlier } from "./retake.ts";
import { onParametersUploaded, uploadOfHub } from "./uploads.ts";

export type Restored = "stored" | "checkpoint" | "neighbours" | "initial";

const mostFailures = 3; // of one miner in a row; then it is disconnected

export function onLoadFailed(
  state: OrchestratorState,
  { member, message }: { member: Member; message: LoadFailed },
): OrchestratorEffect[] {
  if (member.status !== "loading" || message.assignment !== member.assignment || member.stage === null) return [];
  const { node, stage } = member;
  if (member.loadingRound !== state.sources.round) { // it was away while the round moved on
    benchMember(state, member);
    return [];
  }
  if (message.fault.code === "tooLarge") return onTooLarge(state, { member, stage, message });
  member.loadFailures += 1;
  benchMember(state, member);
  const seen = record({ type: "faultSeen", node, ...message.fault });
  if (member.loadFailures >= mostFailures) {
    reach(state, "restore: could not load too often");
    const reason = fault("badBlob", `This node could not load its stage ${mostFailures} times`);
    return [seen, { type: "disconnect", node, fault: reason }];
  }
  return state.restoring.has(stage) ? [seen] : [seen, restore(state, stage)];
}

function restore(state: OrchestratorState, stage: StageIndex): OrchestratorEffect {
  state.restoring.set(stage, "looking");
  return restoreEffect(state, stage);
}

export function restoreEffect(state: OrchestratorState, stage: StageIndex): OrchestratorEffect {
  const { round, stages } = state.sources;
  return { type: "restoreStage", round, stage, sources: stages, gradientSquares: [...state.gradientSquares] };
}

export function restoreAbandoned(state: OrchestratorState): OrchestratorEffect[] {
  const effects: OrchestratorEffect[] = [];
  for (const [stage, status] of state.restoring) {
    if (status !== "held" || rosterOf(state, stage).members.length > 0) continue;
    reach(state, "restore: the replicas that held it are gone");
    effects.push(restore(state, stage));
  }
  return effects;
}

type Found<Type extends OrchestratorEvent["type"]> = Extract<OrchestratorEvent, { type: Type }>;

export function onBroughtBack(
  state: OrchestratorState,
  event: Found<"stageRestored"> | Found<"earlierRoundFound">,
): OrchestratorEffect[] {
  return event.type === "stageRestored" ? onStageRestored(state, event) : onEarlierRoundFound(state, event);
}

function onStageRestored(
  state: OrchestratorState,
  options: Found<"stageRestored">,
): OrchestratorEffect[] {
  const { round, stage, source, from } = options;
  if (round !== state.sources.round || !state.restoring.has(stage)) return [];
  if (from === "stored" || from === "checkpoint") {
    state.restoring.delete(stage);
    const restored = from === "stored" ? [] : [record({ type: "stageRestored", round, stage, from })];
    return [...restored, ...hubMergesAgain(state, { round, stage, isReplaced: false })];
  }
  const left = leftToReplicas(state, { round, stage });
  if (left !== null) return left;
  state.restoring.delete(stage);
  replaceSource(state, { stage, source });
  return [
    record({ type: "stageRestored", round, stage, from }),
    ...hubMergesAgain(state, { round, stage, isReplaced: true }),
  ];
}

/** A rollback is better than a substitute stage. */
function onEarlierRoundFound(
  state: OrchestratorState,
  { round, stage, earlier }: Found<"earlierRoundFound">,
): OrchestratorEffect[] {
  const isWanted = round === state.sources.round && state.restoring.has(stage);
  const left = isWanted ? leftToReplicas(state, { round, stage }) : [];
  if (left !== null) return [...left, ...deleteUnused(state, blobsOf(earlier.sources.stages).map(({ hash }) => hash))];
  reach(state, "restore: the run goes back to an earlier checkpoint");
  return goBackToEarlier(state, { earlier, why: `No node has stage ${stage} of round ${round}, nor has the store` });
}

/** Null: no replica has what the store lost, or a result of it. */
function leftToReplicas(
  state: OrchestratorState,
  { round, stage }: { round: number; stage: StageIndex },
): OrchestratorEffect[] | null {
  const merge = mergeOfHub(state, { round, stage });
  if (merge?.isCentral && merge.participants.size > 0) {
    leaveToReplicas(state, merge);
    return askHolder(state, stage);
  }
  if (merge?.applied.size === 1) {
    state.restoring.delete(stage);
    return believeOne(state, { merge, lost: { round, stage, lost: "start" } });
  }
  const isHubWaiting = merge !== null || uploadOfHub(state, { round, stage }) !== null;
  return !isHubWaiting && rosterOf(state, stage).members.length > 0 ? askHolder(state, stage) : null;
}

/** Only while there is time: replicas upload the next round's parameters anyway. */
function askHolder(state: OrchestratorState, stage: StageIndex): OrchestratorEffect[] {
  state.restoring.set(stage, "held");
  const { round } = state.sources;
  const holder = rosterOf(state, stage).members.find((member) => member.graceUntilMs === null);
  const hasTime = state.phase === "training" || state.phase === "gathering";
  if (round !== state.round || !hasTime || holder === undefined) return [];
  reach(state, "restore: a replica is asked for its stage");
  const text = `The store has lost stage ${stage}'s parameters of round ${round}; asking ${holder.node} for them`;
  return [record({ type: "warning", text }), send(holder.node, { type: "uploadParameters", round })];
}

/** For the checkpoint, or again because the store lost them. */
export function onUploaded(
  state: OrchestratorState,
  { member, message }: { member: Member; message: ParametersUploaded },
): OrchestratorEffect[] {
  const { stage } = member;
  const { round, stages } = state.sources;
  const source = stage === null ? undefined : stages[stage];
  if (stage === null || message.round !== round || state.restoring.get(stage) !== "held" || source?.type !== "blobs") {
    return onParametersUploaded(state, { member, message });
  }
  const { parameters, momentum } = message;
  const needed = { parameters, momentum: source.momentum === null ? null : momentum }; // zeros need no blob
  if (!isSameStage(source, needed)) return [];
  state.restoring.delete(stage);
  return [record({ type: "stageRestored", round, stage, from: "replica" })];
}

function replaceSource(
  state: OrchestratorState,
  { stage, source }: { stage: StageIndex; source: ParameterSource },
): void {
  reach(state, "restore: something else takes the stage's place");
  const { round, stages } = state.sources;
  state.sources = { round, stages: stages.map((old, index) => index === stage ? source : old) };
  abandonPaths(state, stage);
  if (round === state.round) state.replaced.add(stage);
  dropReplays(state, { round, stage });
}

interface LostForHub {
  readonly round: number;
  readonly stage: StageIndex;
  readonly lost: "start" | "slices";
}

/**
 * If the orchestrator takes every step (`isCentral`), replicas with the same result are believed. Otherwise replicas
 * upload their result; without any, a lost start is restored, and lost slices repeat the round.
 */
export function onMergeUnavailable(
  state: OrchestratorState,
  options: LostForHub,
): OrchestratorEffect[] {
  const { round, stage, lost } = options;
  const merge = mergeOfHub(state, { round, stage });
  if (merge?.isCentral) {
    leaveToReplicas(state, merge);
    return [lostText(options, "the replicas' results decide")];
  }
  if (merge !== null) {
    if (lost === "start") return [lostText(options, "restoring the stage"), restore(state, stage)];
    if (merge.applied.size === 1) return believeOne(state, { merge, lost: options });
    merge.doubters.add("hub");
    return [];
  }
  const upload = uploadOfHub(state, { round, stage });
  if (upload === null) return [];
  const holders = rosterOf(state, stage).members.map((member) => member.node);
  if (holders.length > 0) {
    reach(state, "restore: replicas upload what the orchestrator cannot compute");
    upload.holders = holders;
    upload.isHubUnable = true;
    upload.asked = null;
    return [lostText(options, "asking the stage's replicas again")];
  }
  if (lost === "start") return [lostText(options, "restoring the stage"), restore(state, stage)];
  reach(state, "restore: a merged round is repeated");
  upload.lostBecause = "no miner has its merged parameters, and the store lost what they were made of";
  return [];
}

function leaveToReplicas(state: OrchestratorState, merge: StageMerge): void {
  reach(state, "restore: replicas decide what the orchestrator cannot compute");
  merge.isCentral = false;
  merge.isHubAsked = false;
}

/** A single result is unchecked, but better than any replacement. */
function believeOne(
  state: OrchestratorState,
  { merge, lost }: { merge: StageMerge; lost: LostForHub },
): OrchestratorEffect[] {
  reach(state, "restore: one word is believed");
  merge.isHubUnable = true;
  return [lostText(lost, "using the result of the only replica that has merged it")];
}

function lostText({ round, stage, lost }: LostForHub, next: string): OrchestratorEffect {
  const text = `The orchestrator cannot merge stage ${stage} of round ${round}: its ${
    lost === "start" ? "start is" : "slices are"
  } gone from the store or damaged; ${next}`;
  return record({ type: "warning", text });
}
