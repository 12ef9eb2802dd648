/**
 * Finished work of the open step that must be redone.
 *
 * Gradients live at the miner that computed them: when it leaves, its credited tasks wait again. Wires live in the
 * orchestrator's memory: those lost with a process are recomputed by free replicas, from the tokens if necessary, and
 * only if something waits for them. For a gradient wire its task's credit is withdrawn, so that no gradient counts
 * twice.
 */

import { present } from "../../assert.ts";
import type { BlobRef, NodeId, TaskId } from "../../ids.ts";
import { countWaiting, type DepartedGradient, openWork, type WorkItem } from "./step_state.ts";
import type { Member, OrchestratorState } from "../state.ts";
import { flowOf, missingInputs, queueItem } from "./wiring.ts";

/** Not if it has already been asked for exactly these tasks. */
export function noteIdle(state: OrchestratorState, member: Member): void {
  const { node, stage } = member;
  const work = openWork(state);
  if (stage === null || member.leases.size > 0 || !work.contributors.has(node) || work.asked.has(node)) return;
  present(work.idle[stage], "every stage has a set").add(node);
}

/** Queues the item once its inputs are here; until then, the items that compute them are redone. */
export function awaitInputs(state: OrchestratorState, item: WorkItem): void {
  const missing = missingInputs(flowOf(state, item), item);
  if (missing.length === 0) return queueItem(state, item);
  item.status = "blocked";
  item.refused = []; // failures with an input that is gone
  item.overdue = [];
  item.lapsed = [];
  for (const maker of missing) if (maker.status === "done") makeAgain(state, maker);
}

/** The output of a done item is lost. */
export function makeAgain(state: OrchestratorState, item: WorkItem): void {
  if (item.direction === "forward") return reopen(state, [item]);
  const work = openWork(state);
  const task = present(item.task, "a done item has a task");
  const departed = work.departed.find(({ items }) => items.includes(item));
  if (departed !== undefined) return takeBackDeparted(state, departed);
  const member = present(state.members.get(present(item.doneBy, "a done item has a doer")), "its doer is a member");
  reissueCredited(state, { member, tasks: [task] });
}

/** The sum over its tasks cannot be split: all are redone. */
function takeBackDeparted(state: OrchestratorState, departed: DepartedGradient): void {
  const work = openWork(state);
  work.departed.splice(work.departed.indexOf(departed), 1);
  reopen(state, departed.items);
}

/** Opens all before queueing any: one may recompute another's input. */
function reopen(state: OrchestratorState, items: readonly WorkItem[], avoid: NodeId | null = null): void {
  const work = openWork(state);
  for (const item of items) {
    if (item.direction !== "forward") work.credited.delete(present(item.task, "a done item has a task"));
    countWaiting(work, item, 1);
    work.left += 1;
    item.status = "blocked";
    item.doneBy = null;
    item.doneIn = null;
    item.task = null;
    item.avoid = avoid;
  }
  for (const item of items) awaitInputs(state, item);
}

export function reissueCredited(
  state: OrchestratorState,
  { member, tasks, avoid = null }: { member: Member; tasks: readonly TaskId[]; avoid?: NodeId | null },
): number {
  const work = state.work;
  if (work === null || tasks.length === 0) return 0;
  const gone = new Set(tasks);
  const items = [...gone].map((task) => present(work.credited.get(task), "a credited task is in the table"));
  member.stepTasks = member.stepTasks.filter((task) => !gone.has(task));
  if (member.stepTasks.length === 0) dropContributor(state, member);
  work.sealed.delete(member.node);
  work.asked.delete(member.node);
  work.askedAhead.delete(member.node);
  work.uncounted.add(member.node);
  noteIdle(state, member);
  state.counters.reLeases += gone.size;
  reopen(state, items, avoid);
  return gone.size;
}

function dropContributor(state: OrchestratorState, { node, stage }: Member): void {
  const work = openWork(state);
  work.contributors.delete(node);
  if (stage !== null) work.idle[stage]?.delete(node);
}

/** No lease is open. */
export function forgetWires(state: OrchestratorState, lost: ReadonlySet<string>): void {
  const { work } = state;
  if (work === null || lost.size === 0) return;
  const isLost = (ref: BlobRef | null) => ref !== null && lost.has(ref.hash);
  for (const flow of work.flows) {
    for (const { wires } of flow.past) wires.forEach((ref, stage) => isLost(ref) && (wires[stage] = null));
    if (![...flow.wires, ...flow.gradients].some(isLost)) continue;
    flow.isRemade = true;
    for (const refs of [flow.wires, flow.gradients]) refs.forEach((ref, stage) => isLost(ref) && (refs[stage] = null));
  }
  for (const queue of [...work.queues, ...state.rosters.flatMap(({ members }) => members.map(({ own }) => own))]) {
    queue.gradients.length = 0;
    queue.forwards.length = 0;
  }
  for (const roster of state.rosters) {
    roster.backlog.clear();
    roster.due.clear();
  }
  const waiting = work.flows.flatMap(({ items }) => items.filter(({ status }) => status !== "done"));
  for (const item of waiting) item.status = "blocked";
  for (const item of waiting) if (item.status === "blocked") awaitInputs(state, item);
}
