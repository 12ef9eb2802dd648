/**
 * Membership: joining, assignment to a stage, silence, loss, leaving. A newcomer loads the newest round's parameters
 * and catches up (catching_up.ts). A silent node keeps its work for `disconnectGraceMs`.
 */

import { present } from "../../assert.ts";
import { type Fault, fault } from "../../fault.ts";
import type { NodeId, StageIndex } from "../../ids.ts";
import type { Join, Peer, Role } from "../../protocol/message.ts";
import { joinedAnew } from "../../protocol/record.ts";
import { setAlarm } from "../alarms.ts";
import { chainStart } from "../../statements/work_chain.ts";
import { reissueAuditOf } from "../audit/audit_requests.ts";
import { isExcusable } from "../audit/forfeits.ts";
import { drawLeaver } from "../audit/drawn_miners.ts";
import { noteUnshown } from "../audit/shown_states.ts";
import { placeValidator } from "../audit/validator_places.ts";
import { type OrchestratorEffect, record, send } from "../event.ts";
import { lookSoon, reissueWorkOf } from "../step/leases.ts";
import { isResting, noteAbsence, noteLostGradients, noteWithheld, notifyOfRest } from "./blame.ts";
import { stageCapacities } from "./capacity.ts";
import { newCatchUp } from "./catch_up.ts";
import { awaitLoading } from "./loading.ts";
import { coverDeserted, floorReplicas } from "./rebalance.ts";
import { dropParticipants } from "../merge/participants.ts";
import { awaitAssign, replicasOf, setAway, setBack, setStage } from "./replicas.ts";
import { mayResume, resumeMember } from "./resume.ts";
import { hasComeBackOften, noteReturn } from "./returns.ts";
import { forgetMember } from "./roster_changes.ts";
import { noteJoined } from "./talk.ts";
import { departSealed, renewPatience } from "../step/sealing.ts";
import { type Member, newMember, type OrchestratorState } from "../state.ts";
import { fits } from "./unfit.ts";
import { replaceUploader } from "../merge/uploads.ts";
import { pastReports } from "../audit/work_report.ts";

export function onJoin(
  state: OrchestratorState,
  options: { node: NodeId; message: Join; nowMs: number },
): OrchestratorEffect[] {
  const { node, message, nowMs } = options;
  if (state.expelled.has(node)) {
    return [{ type: "disconnect", node, fault: fault("notAdmitted", "this node was banned from the run") }];
  }
  const tooMany = noteJoined(state, node);
  if (tooMany !== null) return [{ type: "disconnect", node, fault: tooMany }];
  const old = state.members.get(node);
  if (old !== undefined && old.role === message.role && mayResume(state, { member: old, holding: message.holding })) {
    return resumeMember(state, {
      member: old,
      holding: present(message.holding, "a resuming node holds a stage"),
      nowMs,
    });
  }
  const { role, adapter, listens } = message;
  const effects = old === undefined ? [] : loseNode(state, { node, reason: joinedAnew, nowMs });
  const member = newMember({ node, role, adapter, listens, previousStage: message.previousStage });
  const noRoom = roomFault(state, { node, role });
  if (noRoom !== null) return [...effects, { type: "disconnect", node, fault: noRoom }];
  state.members.set(node, member);
  if (role === "validator") admitValidator(state, node);
  else {
    awaitAssign(state, member);
    notifyOfRest(state, node);
  }
  const { config, layersOfStages } = state;
  return [
    ...effects,
    record({ type: "nodeJoined", node, role, adapter }),
    send(node, { type: "welcome", config, layersOfStages, isKept: false, shows: [] }),
    ...(role === "validator" ? pastReports(state, node) : []),
  ];
}

function admitValidator(state: OrchestratorState, node: NodeId): void {
  state.validators.add(node);
  placeValidator(state, node);
}

/** Null if the node has a place or can get one. Not final: a refused node tries again. */
function roomFault(
  state: OrchestratorState,
  { node, role }: { node: NodeId; role: Role },
): Fault | null {
  if (role !== "miner" || state.members.has(node) || freePlaces(state) > 0) return null;
  const most = state.config.limits.minersPerStage;
  return fault(
    "limitExceeded",
    `Every stage already has ${most} miners, the most that it may have; try again later`,
  );
}

/** Members waiting for a stage already have their place, so that everyone admitted gets one. */
export function freePlaces({ members, validators, stages, config }: OrchestratorState): number {
  return Math.max(0, stages.length * config.limits.minersPerStage - (members.size - validators.size));
}

/** The stage that needs a miner most, among those that its device can hold; null if all are full. */
function chooseStage(state: OrchestratorState, member: Member): StageIndex | null {
  const { limits, swarm } = state.config;
  const open = stageCapacities(state).filter(({ stage, assigned }) =>
    assigned < limits.minersPerStage && fits(member, stage)
  );
  const wanted = state.phase === "gathering" ? Math.max(floorReplicas, swarm.replicas) : floorReplicas;
  const fewest = Math.min(...open.map(({ assigned }) => assigned));
  const needy = fewest < wanted ? open.filter(({ assigned }) => assigned === fewest) : open;
  const previous = needy.find(({ stage }) => stage === member.previousStage);
  if (previous !== undefined && previous.assigned < Math.max(floorReplicas, swarm.replicas)) return previous.stage;
  const [first, ...others] = needy;
  if (first === undefined) return null;
  const shortest = others.reduce((best, each) => each.expected < best.expected ? each : best, first);
  return fewest < wanted ? first.stage : shortest.stage;
}

export function assignWaiting(state: OrchestratorState, nowMs: number): OrchestratorEffect[] {
  if (state.waiting.size === 0 || state.sources.round !== state.round) return [];
  if (state.phase === "merging" || state.phase === "closing") return []; // the parameters are about to change
  const effects: OrchestratorEffect[] = [];
  for (const node of [...state.waiting]) {
    const member = present(state.members.get(node), "a waiting miner is a member");
    if ((isResting(state, node) || hasComeBackOften(state, member)) && !isShort(state)) continue;
    const stage = member.stage ?? chooseStage(state, member);
    if (stage === null || state.restoring.has(stage)) continue;
    state.waiting.delete(node);
    setStage(state, member, stage);
    member.status = "loading";
    member.assignment = ++state.assignments;
    member.loadingRound = state.round;
    member.header = null;
    member.head = chainStart;
    const { assignment } = member;
    const { round } = state;
    const source = present(state.sources.stages[stage], "every stage has a source");
    state.catchingUp.set(node, newCatchUp(source));
    awaitLoading(state, { member, nowMs });
    effects.push(
      send(node, { type: "assign", assignment, stage, round, source, peers: peersOf(state, stage) }),
      record({ type: "nodeAssigned", node, stage, round }),
    );
  }
  return effects;
}

/** A suspended or unreliable member is better than none. */
const isShort = (state: OrchestratorState): boolean => state.rosters.some((roster) => roster.assigned === 0);

const mostPeers = 8;

function peersOf(state: OrchestratorState, stage: StageIndex): Peer[] {
  const peers: Peer[] = [];
  for (const member of replicasOf(state, stage)) {
    const { node, listens, graceUntilMs } = member;
    if (listens !== null && graceUntilMs === null) peers.push({ node, url: listens, pass: null });
    if (peers.length === mostPeers) break;
  }
  return peers;
}

/** Starts the run when every stage has all its replicas or, after `gatherMs`, at least one. */
export function beginWhenGathered(state: OrchestratorState, nowMs: number): OrchestratorEffect[] {
  if (state.phase !== "gathering") return [];
  const counts = state.stages.map((spec) => replicasOf(state, spec.index).length);
  const isLate = !state.config.deterministic && nowMs >= present(state.gatherUntilMs, "a gathering deadline");
  const wanted = isLate ? 1 : state.config.swarm.replicas;
  if (counts.some((count) => count < wanted)) {
    if (!isLate) return [];
    state.gatherUntilMs = nowMs + state.config.swarm.gatherMs;
    return coverDeserted(state, nowMs);
  }
  state.gatherUntilMs = null;
  state.phase = "training";
  const started = record({
    type: "runStarted",
    step: state.step,
    round: state.round,
    stages: state.stages.length,
    miners: counts.reduce((a, b) => a + b, 0),
  });
  return [started];
}

export function onDisconnected(
  state: OrchestratorState,
  options: { node: NodeId; nowMs: number },
): OrchestratorEffect[] {
  const member = state.members.get(options.node);
  if (member === undefined || member.graceUntilMs !== null) return [];
  const atMs = options.nowMs + state.config.limits.disconnectGraceMs;
  setAway(state, member, atMs);
  setAlarm(state, { type: "silence", node: member.node, atMs });
  lookSoon(state, { member, nowMs: options.nowMs });
  return [];
}

export function onReconnected(
  state: OrchestratorState,
  { node, nowMs }: { node: NodeId; nowMs: number },
): OrchestratorEffect[] {
  const member = state.members.get(node);
  if (member === undefined) return [];
  setBack(state, member);
  noteReturn(state, member);
  renewPatience(state, { member, nowMs });
  return [];
}

/** Whether the silence exceeds the grace; a later grace resets the alarm. */
export function isLost(state: OrchestratorState, { node, nowMs }: { node: NodeId; nowMs: number }): boolean {
  const graceUntilMs = state.members.get(node)?.graceUntilMs ?? null;
  if (graceUntilMs === null) return false;
  if (graceUntilMs <= nowMs) return true;
  setAlarm(state, { type: "silence", node, atMs: graceUntilMs });
  return false;
}

/** The member's committed work stays counted. */
export function onDismissed(
  state: OrchestratorState,
  options: { node: NodeId; fault: Fault; reason?: string; nowMs: number },
): OrchestratorEffect[] {
  const { node, fault, reason = "it is no longer admitted", nowMs } = options;
  if (!state.members.has(node)) return [];
  return [
    { type: "disconnect", node, fault },
    ...loseNode(state, { node, reason, nowMs }),
  ];
}

/** Pending merge answers count as missed deadlines. */
export function onLeaving(
  state: OrchestratorState,
  { member: { node }, reason, nowMs }: { member: Member; reason: string; nowMs: number },
): OrchestratorEffect[] {
  const merge = state.merge?.stages.find(({ owing }) => owing.has(node));
  if (merge !== undefined && merge.phase !== "agreed") noteWithheld(state, { node, duty: merge.phase });
  return loseNode(state, { node, reason, nowMs });
}

export function loseNode(
  state: OrchestratorState,
  options: { node: NodeId; reason: string; nowMs: number; expelled?: true },
): OrchestratorEffect[] {
  const { node, reason, nowMs, ...fate } = options;
  const member = state.members.get(node);
  if (member === undefined) return [];
  setAway(state, member, nowMs);
  if (member.leases.size > 0 || member.stepTasks.length > 0) noteReturn(state, member);
  const { work } = state;
  const { isCutByHub } = member; // whose own restart may have been the whole machine's
  const owesConfirmation = !isCutByHub && work?.asked.has(node) === true && !work.sealed.has(node);
  const tasksKept = departSealed(state, member);
  drawLeaver(state, member);
  noteUnshown(state, node);
  // After these: an earlier disconnect is their excuse.
  if (owesConfirmation) noteAbsence(state, { node, duty: "confirming" });
  const tasksLost = tasksKept + member.roundTasks;
  const losesGradients = tasksLost > 0 && !isCutByHub;
  if (losesGradients) noteLostGradients(state, { node, isExcusable: isExcusable(state, node) });
  const tasksReissued = reissueWorkOf(state, member);
  const merge = state.merge?.stages.find((stage) => stage.participants.has(node));
  if (!isCutByHub && merge?.owing.has(node) && merge.phase !== "agreed") {
    noteAbsence(state, { node, duty: merge.phase });
  }
  forgetMember(state, member);
  reissueAuditOf(state, node);
  replaceUploader(state, node);
  const lost = record({
    type: "nodeLost",
    node,
    reason,
    tasksReissued,
    tasksKept,
    ...(tasksLost > 0 ? { tasksLost } : {}),
    ...fate,
  });
  return merge === undefined ? [lost] : [lost, ...dropParticipants(state, { merge, nodes: [node], nowMs })];
}
