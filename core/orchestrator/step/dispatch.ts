/**
 * Which waiting item goes to which replica: own work first, then the stage's, then an overloaded neighbour's. Costs
 * O(log n) per leased task and almost nothing where nothing can be done.
 */

import { present } from "../../assert.ts";
import { heapPop, heapPush } from "../../heap.ts";
import { type NodeId, type StageIndex, stageIndex } from "../../ids.ts";
import type { OrchestratorEffect } from "../event.ts";
import { lease } from "./leases.ts";
import { firstReady, hasFreePlace, markReady, rosterOf, takeIdle, takeReady } from "../members/replicas.ts";
import { waitsForProgress } from "../merge/rewind.ts";
import { isAwaited, mayTryAgain, mostAsked } from "./refusals.ts";
import type { Member, OrchestratorState, StageRoster } from "../state.ts";
import { hasRefused, inDataOrder, isEmpty, type ItemQueue, refusersOf, type WorkItem } from "./step_state.ts";
import { isInOrder, isTail } from "./wiring.ts";

export function leaseWork(state: OrchestratorState, nowMs: number): OrchestratorEffect[] {
  const { work } = state;
  if (work === null || work.left === 0 || state.phase !== "training" || waitsForProgress(state)) return [];
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
    while (hasFreePlace(member)) {
      const item = takeOwn(state, { roster, member });
      if (item === null) break;
      effects.push(lease(state, { item, member, nowMs }));
    }
    roster.due.delete(member); // a new lease puts it back while it has more
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
    const item = takeFor(state, { member, roster, queue });
    if (item !== null) {
      effects.push(lease(state, { item, member, nowMs }));
      continue;
    }
    passedOver.push(member);
    const named = nodesNamedIn(queue);
    if (named.has(member.node)) continue;
    leaseToNamed(state, { ...turn, named }); // the others are all alike to the queue
    break;
  }
  for (const member of passedOver) markReady(state, member);
}

function leaseToNamed(
  state: OrchestratorState,
  { stage, roster, queue, nowMs, effects, named }: Turn & {
    stage: StageIndex;
    queue: ItemQueue;
    named: ReadonlySet<NodeId>;
  },
): void {
  for (const node of named) {
    const member = state.members.get(node);
    if (member?.stage !== stage || !member.isReady) continue;
    const item = takeFor(state, { member, roster, queue });
    if (item === null) continue;
    member.isReady = false; // its place in the order is stale now
    effects.push(lease(state, { item, member, nowMs }));
  }
}

/** Replicas that are special to some waiting item. */
function nodesNamedIn({ gradients, forwards }: ItemQueue): Set<NodeId> {
  const named = new Set<NodeId>();
  for (const { avoid, again, makers, refused } of [...gradients, ...forwards]) {
    if (avoid !== null) named.add(avoid);
    for (const node of [...again, ...makers, ...refused.map((failure) => failure.node)]) named.add(node);
  }
  return named;
}

function takeFor(
  state: OrchestratorState,
  { member, roster, queue }: { member: Member; roster: StageRoster; queue: ItemQueue },
): WorkItem | null {
  for (const heap of [queue.gradients, queue.forwards]) {
    const avoided: WorkItem[] = [];
    let taken: WorkItem | null = null;
    for (let item = heapPop(heap, inDataOrder); item !== undefined; item = heapPop(heap, inDataOrder)) {
      if (mayTake(state, { roster, item, member })) {
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
 * First replicas that never had the task, then those that failed it last, then makers of an earlier version, and those
 * that refused it once all that may return have refused.
 */
function mayTake(
  state: OrchestratorState,
  { roster, item, member }: { roster: StageRoster; item: WorkItem; member: Member },
): boolean {
  const { avoid, makers, again } = item;
  const isFresh = ({ node, graceUntilMs }: Member) =>
    graceUntilMs === null && avoid !== node && !hasRefused(item, node);
  if (presentAmong(state, { nodes: again, stage: item.stage }).some(isFresh)) {
    return again.includes(member.node) && isFresh(member);
  }
  if (makers.includes(member.node) && roster.members.some((each) => isFresh(each) && !makers.includes(each.node))) {
    return false;
  }
  const refusers = presentAmong(state, { nodes: [...refusersOf(item)], stage: item.stage }).length;
  if (hasRefused(item, member.node)) {
    const isAllOver = refusers >= Math.min(roster.present, mostAsked) && !isAwaited(roster, item);
    return (isAllOver || mayTryAgain(state, item)) && (avoid !== member.node || roster.present === 1);
  }
  return avoid !== member.node || refusers >= roster.present - 1;
}

function presentAmong(
  state: OrchestratorState,
  { nodes, stage }: { nodes: readonly NodeId[]; stage: StageIndex },
): Member[] {
  return nodes.map((node) => state.members.get(node)).filter((member) => member !== undefined)
    .filter((member) => member.stage === stage && member.status === "active" && member.graceUntilMs === null);
}

/** An idle replica takes work that waits for a busy one: every backward can be recomputed. */
function takeOver(state: OrchestratorState, { roster, nowMs, effects }: Turn): void {
  for (;;) {
    const idle = firstReady(roster);
    const [owner] = roster.backlog;
    if (idle === null || owner === undefined || idle.leases.size > 0 || owner === idle) return;
    const heap = owner.own.gradients.length > 0 ? owner.own.gradients : owner.own.forwards;
    if (!mayTake(state, { roster, item: present(heap[0], "a backlog has an item"), member: idle })) return;
    const item = present(heapPop(heap, inDataOrder), "a backlog has an item");
    if (isEmpty(owner.own)) roster.backlog.delete(owner);
    effects.push(lease(state, { item, member: idle, nowMs }));
  }
}
