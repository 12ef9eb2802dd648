/**
 * Which waiting item goes to which replica: own work first, then the stage's, then an overloaded neighbour's.
 *
 * Costs a logarithm for each task handed out and next to nothing for a stage where nothing can be done.
 */

import { present } from "../../assert.ts";
import { heapPop, heapPush } from "../../heap.ts";
import { type StageIndex, stageIndex } from "../../ids.ts";
import type { OrchestratorEffect } from "../event.ts";
import { lease } from "./leases.ts";
import { firstReady, hasFreePlace, markReady, rosterOf, takeIdle, takeReady } from "../members/replicas.ts";
import { isAwaited, mostAsked } from "./refusals.ts";
import type { Member, OrchestratorState, StageRoster } from "../state.ts";
import { hasRefused, inDataOrder, isEmpty, type ItemQueue, type WorkItem } from "./step_state.ts";
import { isInOrder, isTail } from "./wiring.ts";

/** Hands queued items to replicas with a free place until nothing fits. */
export function leaseWork(state: OrchestratorState, nowMs: number): OrchestratorEffect[] {
  const { work } = state;
  if (work === null || work.left === 0 || state.phase !== "training") return [];
  const effects: OrchestratorEffect[] = [];
  for (const [index, queue] of work.queues.entries()) {
    const stage = stageIndex(index);
    const roster = rosterOf(state, stage);
    if (roster.due.size > 0) leaseOwn(state, { roster, nowMs, effects });
    if (!isEmpty(queue)) leaseShared(state, { stage, roster, queue, nowMs, effects });
    if (roster.backlog.size > 0 && !state.config.deterministic) takeOver(state, { roster, nowMs, effects });
  }
  return effects;
}

interface Turn {
  readonly roster: StageRoster;
  readonly nowMs: number;
  readonly effects: OrchestratorEffect[];
}

function leaseOwn(state: OrchestratorState, { roster, nowMs, effects }: Turn): void {
  for (const member of [...roster.due]) {
    roster.due.delete(member);
    while (hasFreePlace(state, member)) {
      const item = takeOwn(state, { roster, member });
      if (item === null) break;
      effects.push(lease(state, { item, member, nowMs }));
    }
    roster.due.delete(member); // a lease puts it back while it has more
  }
}

function takeOwn(
  state: OrchestratorState,
  { roster, member }: { roster: StageRoster; member: Member },
): WorkItem | null {
  const { own } = member;
  const gradient = own.gradients[0];
  const mayTake = gradient !== undefined && isInOrder(state, { item: gradient, member });
  const item = heapPop(mayTake ? own.gradients : own.forwards, inDataOrder) ?? null;
  if (isEmpty(own)) roster.backlog.delete(member);
  return item;
}

function leaseShared(state: OrchestratorState, turn: Turn & { stage: StageIndex; queue: ItemQueue }): void {
  const { stage, roster, queue, nowMs, effects } = turn;
  const passedOver: Member[] = [];
  const isLate = !state.config.deterministic && isTail(state, stage);
  while (!isEmpty(queue)) {
    const member = (isLate ? takeIdle(roster) : null) ?? takeReady(roster);
    if (member === null) break;
    const item = takeFor(member, { roster, queue });
    if (item === null) passedOver.push(member);
    else effects.push(lease(state, { item, member, nowMs }));
  }
  for (const member of passedOver) markReady(state, member);
}

/** The first item that this member may take. */
function takeFor(member: Member, { roster, queue }: { roster: StageRoster; queue: ItemQueue }): WorkItem | null {
  for (const heap of [queue.gradients, queue.forwards]) {
    const avoided: WorkItem[] = [];
    let taken: WorkItem | null = null;
    for (let item = heapPop(heap, inDataOrder); item !== undefined; item = heapPop(heap, inDataOrder)) {
      if (mayTake(roster, { item, member })) {
        taken = item;
        break;
      }
      avoided.push(item);
    }
    for (const item of avoided) heapPush(heap, item, inDataOrder);
    if (taken !== null) return taken;
  }
  return null;
}

/**
 * Who let the task down comes after those who never had it, who made an earlier version of it after those, and who refused it comes
 * last, when all have who may still come back.
 */
function mayTake(roster: StageRoster, { item, member }: { item: WorkItem; member: Member }): boolean {
  const { avoid, makers, again } = item;
  const isFresh = ({ node, graceUntilMs }: Member) =>
    graceUntilMs === null && avoid !== node && !hasRefused(item, node);
  if (again.length > 0 && roster.members.some((each) => again.includes(each.node) && isFresh(each))) {
    return again.includes(member.node) && isFresh(member);
  }
  if (makers.includes(member.node) && roster.members.some((each) => isFresh(each) && !makers.includes(each.node))) {
    return false;
  }
  const refusers = item.refused.length === 0 ? 0 : presentRefusers(roster, item);
  if (hasRefused(item, member.node)) {
    const isAllOver = refusers >= Math.min(roster.present, mostAsked) && !isAwaited(roster, item);
    return isAllOver && (avoid !== member.node || roster.present === 1);
  }
  return avoid !== member.node || refusers >= roster.present - 1;
}

const presentRefusers = ({ members }: StageRoster, item: WorkItem): number =>
  members.filter(({ node, graceUntilMs }) => graceUntilMs === null && hasRefused(item, node)).length;

/** A replica without any work takes what waits for one that has its hands full: every backward can be recomputed. */
function takeOver(state: OrchestratorState, { roster, nowMs, effects }: Turn): void {
  for (;;) {
    const idle = firstReady(roster);
    const [owner] = roster.backlog;
    if (idle === null || owner === undefined || idle.leases.size > 0 || owner === idle) return;
    const heap = owner.own.gradients.length > 0 ? owner.own.gradients : owner.own.forwards;
    if (!mayTake(roster, { item: present(heap[0], "a backlog has an item"), member: idle })) return;
    const item = present(heapPop(heap, inDataOrder), "a backlog has an item");
    if (isEmpty(owner.own)) roster.backlog.delete(owner);
    effects.push(lease(state, { item, member: idle, nowMs }));
  }
}
