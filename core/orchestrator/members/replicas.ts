/**
 * The active replicas of each stage, and the order in which they get work: interleaved weighted round robin (SWARM,
 * section 4). The replica with the least expected busy time comes first, so one that is twice as fast gets twice the
 * tasks.
 */

import { assert, present } from "../../assert.ts";
import { type Before, heapPop, heapPush } from "../../heap.ts";
import type { NodeId, StageIndex } from "../../ids.ts";
import { placeValidator } from "../audit/validator_places.ts";
import { placesFor } from "./places.ts";
import { countPace, forwardMsOf, noteMedians, recountPace } from "./pace.ts";
import type { Member, MemberStatus, OrchestratorState, ReadyPlace, StageRoster } from "../state.ts";
import { forwardsOf, isEmpty } from "../step/step_state.ts";

export function rosterOf(state: OrchestratorState, stage: StageIndex): StageRoster {
  return present(state.rosters[stage], "every stage has a roster");
}

/** In slot order, the order of merges and of fixed wiring. */
export function replicasOf(state: OrchestratorState, stage: StageIndex): readonly Member[] {
  return rosterOf(state, stage).members;
}

/** Null unless the member is an active and connected replica of the stage. */
export function presentReplica(
  state: OrchestratorState,
  options: { node: NodeId | null; stage: StageIndex },
): Member | null {
  const member = options.node === null ? undefined : state.members.get(options.node);
  if (member === undefined || member.status !== "active" || member.stage !== options.stage) return null;
  return member.graceUntilMs === null ? member : null;
}

export function activate(state: OrchestratorState, member: Member): void {
  const roster = rosterOf(state, present(member.stage, "an active member has a stage"));
  assert(member.status !== "active", `${member.node} is not active before its activation`);
  member.status = "active";
  state.catchingUp.delete(member.node);
  member.places = placesFor(state.config, member);
  let at = roster.members.length;
  while (at > 0 && roster.members[at - 1]!.assignment > member.assignment) at -= 1;
  roster.members.splice(at, 0, member);
  countPace(roster, { member, by: 1 });
  member.busyMs = roster.clockMs;
  if (member.graceUntilMs === null) roster.present += 1;
  markReady(state, member);
}

/** The caller first reassigns the replica's queued and leased work. */
export function deactivate(state: OrchestratorState, member: Member, status: MemberStatus): void {
  if (member.status === "active") {
    const roster = rosterOf(state, present(member.stage, "an active member has a stage"));
    assert(member.leases.size === 0 && isEmpty(member.own), `${member.node} holds no work when it is retired`);
    roster.members.splice(roster.members.indexOf(member), 1);
    countPace(roster, { member, by: -1 });
    if (member.graceUntilMs === null) roster.present -= 1;
    roster.due.delete(member);
    member.isReady = false;
  }
  state.catchingUp.delete(member.node);
  member.status = status;
}

export function setStage(state: OrchestratorState, member: Member, stage: StageIndex | null): void {
  if (member.stage !== null) rosterOf(state, member.stage).assigned -= 1;
  if (stage !== null) rosterOf(state, stage).assigned += 1;
  member.stage = stage;
}

/** A disconnected member may have lost its session and is reconsidered on its return. */
export function awaitAssign(state: OrchestratorState, member: Member): void {
  if (member.role !== "miner" || member.status !== "waiting" || member.graceUntilMs !== null) return;
  state.waiting.add(member.node);
}

/** No new work until the link is restored. */
export function setAway(state: OrchestratorState, member: Member, graceUntilMs: number): void {
  if (member.status === "active" && member.graceUntilMs === null) {
    const roster = rosterOf(state, present(member.stage, "an active member has a stage"));
    roster.present -= 1;
    roster.due.delete(member);
    member.isReady = false;
  }
  member.graceUntilMs = graceUntilMs;
  state.waiting.delete(member.node);
  if (member.role === "validator") placeValidator(state, member.node);
}

export function setBack(state: OrchestratorState, member: Member): void {
  if (member.graceUntilMs === null) return;
  member.graceUntilMs = null;
  member.isCutByHub = false;
  if (member.role === "validator") placeValidator(state, member.node);
  if (member.status !== "active") return awaitAssign(state, member);
  rosterOf(state, present(member.stage, "an active member has a stage")).present += 1;
  markReady(state, member);
}

const inTurn: Before<ReadyPlace> = (a, b) =>
  a.busyMs < b.busyMs || (a.busyMs === b.busyMs && a.member.assignment < b.member.assignment);

export function hasFreePlace({ status, graceUntilMs, leases, places }: Member): boolean {
  return status === "active" && graceUntilMs === null && leases.size < places;
}

export function markReady(state: OrchestratorState, member: Member): void {
  if (!hasFreePlace(member)) return;
  const roster = rosterOf(state, present(member.stage, "an active member has a stage"));
  if (!isEmpty(member.own)) roster.due.add(member);
  if (member.isReady) return;
  member.busyMs = Math.max(member.busyMs, roster.clockMs);
  member.isReady = true;
  if (roster.ready.length > 2 * roster.members.length + 16) dropStale(roster);
  heapPush(roster.ready, { busyMs: member.busyMs, member }, inTurn);
}

const mostAhead = forwardsOf("forward") + forwardsOf("backward"); // one microbatch: more is speed and not chance
const handicap = 0.9; // forwards of the fastest replica: less than one, so each gets a task before any gets a second

/**
 * All start a step almost level, so each gets a task before any gets a second: one without tasks could not be audited
 * or measured. Those ahead come later: otherwise four microbatches among three would always go as 2, 1, 1, and the
 * first would look faster, because a task that waits behind another does not wait for the link.
 */
export function levelReplicas(state: OrchestratorState): void {
  for (const roster of state.rosters) {
    let [least, fastestMs] = [Infinity, Infinity];
    for (const member of roster.members) {
      least = Math.min(least, member.ahead);
      fastestMs = Math.min(fastestMs, forwardMsOf(roster, member));
    }
    roster.ready.length = 0;
    roster.clockMs = 0;
    recountPace(roster);
    noteMedians(roster);
    for (const member of roster.members) {
      member.ahead = Math.min(member.ahead - least, mostAhead);
      member.busyMs = member.ahead > 0 ? handicap * fastestMs : 0;
      member.isReady = false;
      member.places = placesFor(state.config, member);
      markReady(state, member);
    }
  }
}

function dropStale(roster: StageRoster): void {
  const valid = roster.ready.filter(isValid);
  roster.ready.length = 0;
  for (const place of valid) heapPush(roster.ready, place, inTurn);
}

const isValid = ({ busyMs, member }: ReadyPlace): boolean => member.isReady && member.busyMs === busyMs;

export function firstReady(roster: StageRoster): Member | null {
  for (let first = roster.ready[0]; first !== undefined; first = roster.ready[0]) {
    if (isValid(first)) return first.member;
    heapPop(roster.ready, inTurn);
  }
  return null;
}

export function takeReady(roster: StageRoster): Member | null {
  const member = firstReady(roster);
  if (member === null) return null;
  heapPop(roster.ready, inTurn);
  member.isReady = false;
  return member;
}

const mostCompared = 32;

/** The fastest of some idle replicas that may be asked: the next in turn would often be slow. */
export function idleReplica(roster: StageRoster, mayAsk: (node: NodeId) => boolean = () => true): Member | null {
  let best: Member | null = null;
  let compared = 0;
  for (const place of roster.ready) {
    const { member } = place;
    if (!isValid(place) || member.leases.size > 0 || !mayAsk(member.node)) continue;
    if (best === null || forwardMsOf(roster, member) < forwardMsOf(roster, best)) best = member;
    if (++compared === mostCompared) break;
  }
  return best;
}

export function takeIdle(roster: StageRoster): Member | null {
  const member = idleReplica(roster);
  if (member !== null) member.isReady = false; // its place in the heap is stale now
  return member;
}
