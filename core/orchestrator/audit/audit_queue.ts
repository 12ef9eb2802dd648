/**
 * Audits that wait for a validator: reassigned ones, then the oldest, sampled gradients last. Requests of one round
 * that the same validators have tried are one group: to every other validator they are interchangeable, so only its
 * first is examined.
 */

import { assert } from "../../assert.ts";
import { type Before, heapKeep, heapPop, heapPush } from "../../heap.ts";
import type { NodeId } from "../../ids.ts";
import {
  type AuditGroup,
  type AuditQueue,
  type AuditRequest,
  type AuditWork,
  openOne,
  type QueuedAudit,
  roundOf,
} from "./audit_state.ts";

/** A sampled gradient takes as long as a miner's whole step, and delays nothing until a validator has it. */
export const isPatient = (request: AuditRequest): boolean =>
  request.type === "gradient" && request.tried.length === 0 && !request.replay.isOdd;

const inOrder: Before<QueuedAudit> = (a, b) =>
  isPatient(a.request) === isPatient(b.request) ? a.place < b.place : isPatient(b.request);

const newAuditQueue = (): AuditQueue => ({ groups: new Map(), size: 0, front: 0, back: 0 });

export function addRequest(audit: AuditWork, request: AuditRequest): void {
  openOne(audit.open, roundOf(request));
  enter(audit.queue, { place: audit.queue.back++, request });
}

export function addFirst(audit: AuditWork, request: AuditRequest): void {
  openOne(audit.open, roundOf(request));
  requeueAudit(audit.queue, request);
}

/** Queues a request that has already waited ahead of all others. */
export function requeueAudit(queue: AuditQueue, request: AuditRequest): void {
  enter(queue, { place: --queue.front, request });
}

function enter(queue: AuditQueue, queued: QueuedAudit): void {
  const { request } = queued;
  const key = keyOf(request);
  let group = queue.groups.get(key);
  if (group === undefined) {
    group = { round: roundOf(request), tried: [...request.tried], requests: [] };
    queue.groups.set(key, group);
  }
  heapPush(group.requests, queued, inOrder);
  queue.size += 1;
}

const keyOf = (request: AuditRequest): string => [roundOf(request), ...request.tried.toSorted()].join(" ");

export function groupsOf({ groups }: AuditQueue, isOpen: (round: number) => boolean): AuditGroup[] {
  return [...groups.values()].filter(({ round }) => isOpen(round));
}

export function hasAuditFor(groups: readonly AuditGroup[], validator: NodeId): boolean {
  return groups.some(({ tried, requests }) => requests.length > 0 && !tried.includes(validator));
}

/** Null if the validator has tried all requests of these groups. */
export function takeAudit(
  queue: AuditQueue,
  { groups, validator }: { groups: readonly AuditGroup[]; validator: NodeId },
): AuditRequest | null {
  let best: AuditGroup | null = null;
  for (const group of groups) {
    if (!hasAuditFor([group], validator)) continue;
    if (best === null || inOrder(group.requests[0]!, best.requests[0]!)) best = group;
  }
  const first = best === null ? undefined : heapPop(best.requests, inOrder);
  if (best === null || first === undefined) return null;
  queue.size -= 1;
  if (best.requests.length === 0) queue.groups.delete(keyOf(first.request));
  return first.request;
}

/** Scans the whole queue: call it rarely. */
export function removeAudits(queue: AuditQueue, isVain: (request: AuditRequest) => boolean): AuditRequest[] {
  const removed: QueuedAudit[] = [];
  for (const [key, { requests }] of queue.groups) {
    removed.push(...requests.filter(({ request }) => isVain(request)));
    heapKeep(requests, ({ request }) => !isVain(request), inOrder);
    if (requests.length === 0) queue.groups.delete(key);
  }
  queue.size -= removed.length;
  return removed.map(({ request }) => request);
}

export function queuedAudits({ groups }: AuditQueue): AuditRequest[] {
  const all = [...groups.values()].flatMap(({ requests }) => requests);
  return all.toSorted((a, b) => inOrder(a, b) ? -1 : 1).map(({ request }) => request);
}

export function assertAuditQueue({ groups, size, front, back }: AuditQueue): void {
  let count = 0;
  for (const [key, group] of groups) {
    assert(group.requests.length > 0, "a group of audits is not empty");
    for (const queued of group.requests) {
      const { place, request } = queued;
      assert(keyOf(request) === key, `an audit of round ${roundOf(request)} waits in its group`);
      assert(place >= front && place < back, "an audit has a place in the order");
      assert(!inOrder(queued, group.requests[0]!), "the first of a group comes first");
      count += 1;
    }
  }
  assert(count === size, `${count} audits wait, and ${size} are counted`);
}

/** `evaluated`: the round whose parameters the run begins with. */
export const newAuditWork = (evaluated: AuditWork["evaluated"]): AuditWork => ({
  queue: newAuditQueue(),
  running: new Map(),
  runningOf: new Map(),
  evaluated,
  recomputed: new Map(),
  places: { heard: new Set(), unheard: new Set(), silent: new Set(), answering: new Set() },
  silent: new Map(),
  proven: new Set(),
  slowestMs: new Map(),
  refereed: new Map(),
  leaves: new Map(),
  awaited: new Map(),
  shownWays: new Map(),
  payloadWays: new Map(),
  trials: [],
  drawn: new Map(),
  held: new Map(),
  open: new Map(),
  requests: 0,
  disputes: [],
  isAloneSaid: false,
});
