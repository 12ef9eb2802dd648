/**
 * Leases: a task handed to a miner until its result, its failure, its deadline or the loss of the miner.
 *
 * A task that takes several times as long as its miner's pace predicts is leased to an idle replica as well; the first
 * result counts and the other is refused as stale, so every task is credited once.
 */

import { present } from "../../assert.ts";
import { heapPush } from "../../heap.ts";
import { type BlobRef, type NodeId, taskId } from "../../ids.ts";
import { setAlarm } from "../alarms.ts";
import { isUnreliable, noteWithheld } from "../members/blame.ts";
import { type OrchestratorEffect, record, send } from "../event.ts";
import {
  awaitedForwardMs,
  distrustPace,
  forwardMsOf,
  measure,
  noteOvertaken,
  shortestPatienceMs,
} from "../members/pace.ts";
import { idleReplica, markReady, rosterOf } from "../members/replicas.ts";
import { type Member, type OrchestratorState, tokensPerMicrobatch } from "../state.ts";
import {
  countWaiting,
  type Flow,
  forwardsOf,
  hasRefused,
  heapOf,
  inDataOrder,
  isEmpty,
  type Lease,
  openWork,
  type WorkItem,
} from "./step_state.ts";
import { awaitInputs, noteIdle, reissueCredited } from "./taking_back.ts";
import { consumersOf, flowOf, isTail, queueItem, taskAttachments } from "./wiring.ts";

const latePatience = 3; // times the expected time; then an idle replica gets the task too
const tailPatience = 1.5; // when most of the stage's replicas have nothing to do
export const mostLeases = 4; // of one item: among thousands of miners it can meet two stuck ones

export function lease(
  state: OrchestratorState,
  options: { item: WorkItem; member: Member; nowMs: number },
): OrchestratorEffect {
  const { item, member, nowMs } = options;
  const { microbatch, stage, direction } = item;
  const work = openWork(state);
  const roster = rosterOf(state, stage);
  const task = taskId({ ...item, attempt: item.attempts });
  const forwards = forwardsOf(direction);
  const deadlineMs = nowMs + state.config.limits.leaseMs;
  item.attempts += 1;
  if (item.status === "queued") countWaiting(work, item, -1);
  item.status = "leased";
  item.leases.push({ task, node: member.node, leasedMs: nowMs, deadlineMs, isAlone: member.leases.size === 0 });
  work.leased.set(task, item);
  if (direction !== "forward") {
    work.touched.add(member.node);
    work.handed.add(member.node);
    work.sealed.delete(member.node); // its accumulator will hold more than it committed
    work.asked.delete(member.node);
    work.askedAhead.delete(member.node);
  }
  roster.clockMs = Math.max(roster.clockMs, member.busyMs);
  work.idle[stage]?.delete(member.node);
  member.leases.add(task);
  member.leasedForwards += forwards;
  member.ahead += forwards;
  member.isReady = false;
  member.busyMs += forwards * forwardMsOf(roster, member);
  markReady(state, member);
  setAlarm(state, { type: "lease", task, atMs: nextLookMs(state, { member, deadlineMs, nowMs }) });
  return send(
    member.node,
    { type: "runTask", task, microbatch, stage, direction, step: state.step },
    taskAttachments(flowOf(state, item), item),
  );
}

function nextLookMs(
  state: OrchestratorState,
  { member, deadlineMs, nowMs }: { member: Member; deadlineMs: number; nowMs: number },
): number {
  const stage = present(member.stage, "a leasing member has a stage");
  const roster = rosterOf(state, stage);
  if (state.config.deterministic || (member.forwardMs ?? roster.forwardMs) === null) return deadlineMs;
  const patience = isTail(state, stage) ? tailPatience : latePatience;
  const forwardMs = isUnreliable(state, { node: member.node, duty: "tasks" }) // it has no pace if nothing comes
    ? roster.forwardMs ?? 0
    : awaitedForwardMs(roster, member);
  const patienceMs = Math.max(shortestPatienceMs(roster), patience * member.leasedForwards * forwardMs);
  return Math.min(deadlineMs, nowMs + patienceMs);
}

export function lookSoon(state: OrchestratorState, { member, nowMs }: { member: Member; nowMs: number }): void {
  if (member.leases.size === 0) return;
  const roster = rosterOf(state, present(member.stage, "a member with leases has a stage"));
  const atMs = nowMs + shortestPatienceMs(roster);
  for (const task of member.leases) setAlarm(state, { type: "lease", task, atMs });
}

/**
 * Past its deadline the task goes to another replica, before that to an idle one as well. `isOpenToAll`: also to one
 * that has failed it.
 */
export function onLeaseAlarm(
  state: OrchestratorState,
  { task, nowMs, isOpenToAll }: { task: Lease["task"]; nowMs: number; isOpenToAll: boolean },
): OrchestratorEffect[] {
  const item = state.work?.leased.get(task);
  const held = item?.leases.find((each) => each.task === task);
  if (item === undefined || held === undefined) return [];
  const member = present(state.members.get(held.node), "a lease's node is a member");
  if (held.deadlineMs <= nowMs) {
    if (member.graceUntilMs === null) noteWithheld(state, { node: held.node, duty: "tasks" });
    return [
      ...releaseLease(state, { item, held, reason: `no result within ${state.config.limits.leaseMs} ms`, nowMs }),
      send(held.node, { type: "cancelTasks", tasks: [task] }),
    ];
  }
  setAlarm(state, { type: "lease", task, atMs: nextLookMs(state, { member, deadlineMs: held.deadlineMs, nowMs }) });
  const roster = rosterOf(state, item.stage);
  const isOther = (node: NodeId) =>
    item.leases.every((each) => each.node !== node) && (isOpenToAll || !hasRefused(item, node)) &&
    !item.makers.includes(node);
  const other = idleReplica(roster, isOther);
  const hasMore = !isEmpty(present(openWork(state).queues[item.stage], "a queue"));
  if (item.leases.length >= mostLeases || other === null || hasMore) return [];
  state.counters.speculations += 1;
  return [lease(state, { item, member: other, nowMs })];
}

function endLease(state: OrchestratorState, { item, held }: { item: WorkItem; held: Lease }): void {
  item.leases = item.leases.filter((each) => each !== held);
  openWork(state).leased.delete(held.task);
  const member = state.members.get(held.node);
  if (member === undefined) return;
  member.leases.delete(held.task);
  member.leasedForwards -= forwardsOf(item.direction);
  markReady(state, member);
  noteIdle(state, member);
}

/** The task does not count, though its miner may have computed it. */
function endInVain(state: OrchestratorState, { item, held }: { item: WorkItem; held: Lease }): void {
  if (item.direction !== "forward") openWork(state).uncounted.add(held.node);
  endLease(state, { item, held });
}

export function cancelLeases(state: OrchestratorState, item: WorkItem): OrchestratorEffect[] {
  const cancelled = item.leases;
  for (const held of cancelled) endInVain(state, { item, held });
  return cancelled.map(({ node, task }) => send(node, { type: "cancelTasks", tasks: [task] }));
}

/** Without a usable result. `isInDoubt`: it was answered. */
export function releaseLease(
  state: OrchestratorState,
  options: { item: WorkItem; held: Lease; reason: string; nowMs: number; isInDoubt?: boolean },
): OrchestratorEffect[] {
  const { item, held, reason, nowMs, isInDoubt = false } = options;
  const { leasedMs } = held;
  const member = present(state.members.get(held.node), "a lease's node is a member");
  if (!isInDoubt) distrustPace(state, member, { forwards: forwardsOf(item.direction), leasedMs, nowMs });
  endInVain(state, { item, held });
  item.avoid = held.node;
  state.counters.reLeases += 1;
  if (item.leases.length === 0) queueItem(state, item);
  return [record({ type: "taskReleased", task: held.task, node: held.node, reason })];
}

interface Accepted {
  readonly item: WorkItem;
  readonly held: Lease;
  readonly member: Member;
  readonly output: BlobRef | null;
  readonly losses: readonly number[] | null;
  readonly nowMs: number;
}

/** Books a checked result. `unused`: refs that are not needed. */
export function acceptResult(
  state: OrchestratorState,
  { item, held, member, output, losses, nowMs }: Accepted,
): { unused: BlobRef[]; effects: OrchestratorEffect[] } {
  const work = openWork(state);
  const flow = flowOf(state, item);
  const rivals = item.leases.filter((each) => each !== held);
  measure(state, member, { forwards: forwardsOf(item.direction), leasedMs: held.leasedMs, nowMs });
  endLease(state, { item, held });
  for (const rival of rivals) endInVain(state, { item, held: rival });
  for (const { node, leasedMs } of rivals) {
    const rival = state.members.get(node);
    if (rival !== undefined) noteOvertaken(state, rival, { forwards: forwardsOf(item.direction), leasedMs, nowMs });
    if (isUnreliable(state, { node, duty: "tasks" })) noteWithheld(state, { node, duty: "tasks" });
  }
  item.status = "done";
  item.task = held.task;
  item.doneBy = member.node;
  item.doneIn = member.assignment;
  work.left -= 1;
  work.delivered.add(member.node);
  if (item.direction !== "forward") {
    member.stepTasks.push(held.task);
    work.credited.set(held.task, item);
    work.contributors.add(member.node);
    noteIdle(state, member);
  } else {
    work.forwards.set(member.node, (work.forwards.get(member.node) ?? 0) + 1);
  }
  const unused = keepOutput(state, { flow, item, held, member, output });
  if (losses !== null && unused.length === 0) flow.losses = losses; // those of the maker of the kept output
  for (const next of consumersOf(flow, item)) if (next.status === "blocked") awaitInputs(state, next);
  return {
    unused,
    effects: rivals.map((rival) => send(rival.node, { type: "cancelTasks", tasks: [rival.task] })),
  };
}

/** A repeated task's output is not needed: the first is in use. */
function keepOutput(
  state: OrchestratorState,
  options: { flow: Flow; item: WorkItem; held: Lease; member: Member; output: BlobRef | null },
): BlobRef[] {
  const { flow, item, held, member: { assignment }, output } = options;
  if (output === null) return [];
  const place = item.direction === "forward" ? flow.wires : flow.gradients;
  if (place[item.stage] !== null) return [output];
  place[item.stage] = output;
  item.madeBy = { node: held.node, task: held.task, assignment };
  const tokens = tokensPerMicrobatch(state.config);
  const { counters } = state;
  if (item.direction === "forward") {
    counters.wireBytesForward += output.bytes;
    counters.wireTokensForward += tokens;
  } else {
    counters.wireBytesBackward += output.bytes;
    counters.wireTokensBackward += tokens;
  }
  return [];
}

/** Without blame: the session restarted, and tasks may have been lost in transit. */
export function returnLeases(
  state: OrchestratorState,
  member: Member,
  { isAvoided = false }: { isAvoided?: boolean } = {},
): number {
  let returned = 0;
  for (const task of [...member.leases]) {
    const item = present(openWork(state).leased.get(task), "a member's lease is in the table");
    endLease(state, { item, held: present(item.leases.find((each) => each.task === task), "the lease") });
    if (isAvoided) item.avoid = member.node;
    if (item.leases.length === 0) queueItem(state, item);
    returned += 1;
  }
  state.counters.reLeases += returned;
  return returned;
}

function openOwnQueue(state: OrchestratorState, member: Member): void {
  const stage = member.stage;
  if (stage === null || isEmpty(member.own)) return;
  const roster = rosterOf(state, stage);
  roster.backlog.delete(member);
  roster.due.delete(member);
  const items = [...member.own.gradients, ...member.own.forwards];
  member.own.gradients.length = 0;
  member.own.forwards.length = 0;
  const shared = present(openWork(state).queues[stage], "every stage has a queue");
  for (const item of items) heapPush(heapOf(shared, item), item, inDataOrder);
}

/** Requeues everything in the open step that is lost with a disconnected member. Returns how many tasks. */
export function reissueWorkOf(state: OrchestratorState, member: Member): number {
  if (state.work === null) return 0;
  const returned = returnLeases(state, member) + reissueCredited(state, { member, tasks: [...member.stepTasks] });
  openOwnQueue(state, member);
  state.work.touched.delete(member.node);
  state.work.forwards.delete(member.node);
  return returned;
}
