/**
 * What miners sign for in a step, so that a verdict can be proven to be about work that the miner signed.
 *
 * The request to commit a gradient (sealing.ts) names results: of each credited gradient task its own, and that of its
 * forward if the member did both under this assignment and the output in use is that of this attempt. Other work is not
 * asked for, because the miner may lack it: so an honest miner has exactly the requested results. The orchestrator
 * knows their hashes, and thus the root; a miner that signs another is blamed.
 *
 * Invariant: a member's chain has a link for each step whose header counted its tasks since its stage was assigned.
 */

import { present } from "../../assert.ts";
import { fault } from "../../fault.ts";
import type { BlobRef, NodeId, TaskId } from "../../ids.ts";
import type { StepSealed } from "../../protocol/message.ts";
import type { HeldReceipt, TaskReceipt } from "../../statements/receipt.ts";
import { type DoneWork, workHash } from "../../statements/statement.ts";
import { nextHead } from "../../statements/work_chain.ts";
import { pathOf, rootOf } from "../../statements/work_tree.ts";
import type { OrchestratorEffect } from "../event.ts";
import { blame } from "../members/blame.ts";
import type { Member, OrchestratorState } from "../state.ts";
import { type Flow, openWork, type SealRequest, type StepWork, type WorkItem } from "./step_state.ts";
import { flowOf } from "./wiring.ts";

interface DeliveredWork {
  readonly tasks: readonly TaskId[];
  readonly leaves: readonly string[]; // their hashes
}

export interface ExpectedTask {
  readonly task: TaskId;
  readonly item: WorkItem;
}

function resultsOf(state: OrchestratorState, member: Member): DoneWork[] {
  const work = openWork(state);
  return member.stepTasks.flatMap((task) => {
    const item = present(work.credited.get(task), "a credited task is in the table");
    const flow = flowOf(state, item);
    if (flow.isRemade) return [];
    return itemsOf(flow, item).flatMap((each) => doneBy(member, { flow, item: each }) ?? []);
  });
}

function deliveredBy(state: OrchestratorState, member: Member): DeliveredWork {
  const results = resultsOf(state, member);
  return { tasks: results.map(({ task }) => task), leaves: results.map(workHash) };
}

export function tasksDelivered(state: OrchestratorState, member: Member): TaskId[] {
  return resultsOf(state, member).map(({ task }) => task);
}

export function rootDelivered(state: OrchestratorState, member: Member): string {
  return rootOf(deliveredBy(state, member).leaves);
}

/** `tasksDelivered` once the expected tasks are done, as far as can be foreseen. */
export function tasksDeliveredAhead(
  state: OrchestratorState,
  member: Member,
  expected: readonly ExpectedTask[],
): TaskId[] {
  const tasks = tasksDelivered(state, member);
  for (const { task, item } of expected) {
    const flow = flowOf(state, item);
    if (flow.isRemade) continue;
    const [forward] = itemsOf(flow, item);
    const done = forward === undefined || forward === item ? null : doneBy(member, { flow, item: forward });
    if (done !== null) tasks.push(done.task);
    if (item.madeBy === null) tasks.push(task);
  }
  return tasks;
}

function itemsOf(flow: Flow, item: WorkItem): readonly WorkItem[] {
  const forward = item.direction === "backward" ? flow.items[item.stage] : undefined;
  return forward === undefined ? [item] : [forward, item];
}

/** Null: another member did it, or the output in use is not that of this attempt. */
function doneBy(
  { node, assignment }: Member,
  { flow: { wires, gradients, losses }, item: { stage, direction, task, doneBy, doneIn, madeBy } }: {
    flow: Flow;
    item: WorkItem;
  },
): DoneWork | null {
  if (task === null || doneBy !== node || doneIn !== assignment) return null;
  if (madeBy !== null && madeBy.task !== task) return null;
  const hashOf = (ref: BlobRef | null | undefined) => ref?.hash ?? null;
  return {
    task,
    input: stage === 0 ? null : hashOf(wires[stage - 1]),
    gradient: direction === "backward" ? hashOf(gradients[stage + 1]) : null,
    output: hashOf((direction === "forward" ? wires : gradients)[stage]),
    losses: direction === "turnaround" ? losses : null,
  };
}

/** Null: the sender signed another root, and is blamed. */
export function receiptOf(
  state: OrchestratorState,
  { member: { node, head }, message, asked: { root } }: { member: Member; message: StepSealed; asked: SealRequest },
): { receipt: HeldReceipt | null; effects: OrchestratorEffect[] } {
  const { round } = state;
  const { step, tasks, gradientSquareSum: squareSum, signature } = message;
  if (message.root === root) {
    return { receipt: { round, step, previous: head, root, tasks, squareSum, signature }, effects: [] };
  }
  const detail = `${node} signed the root ${message.root} over its results of step ${step}, ` +
    `but the orchestrator received results with the root ${root}`;
  return { receipt: null, effects: blame(state, { node, fault: fault("unauthenticated", detail) }) };
}

export function extendChain(state: OrchestratorState, { member, work }: { member: Member; work: StepWork }): void {
  const { round, step } = state;
  const asked = work.asked.get(member.node);
  if (asked !== undefined) member.head = nextHead(member.head, { round, step, root: asked.root });
}

/** Tasks without a receipt are left out. */
export function receiptsOf(
  state: OrchestratorState,
  { work, node, tasks }: { work: StepWork; node: NodeId; tasks: readonly TaskId[] },
): Map<TaskId, TaskReceipt> {
  const member = state.members.get(node);
  const receipt = work.sealed.get(node)?.receipt ?? null;
  const found = new Map<TaskId, TaskReceipt>();
  if (member === undefined || receipt === null) return found;
  const delivered = deliveredBy(state, member);
  if (rootOf(delivered.leaves) !== receipt.root) return found; // some of it was redone since
  for (const task of tasks) {
    const place = delivered.tasks.indexOf(task);
    if (place !== -1) found.set(task, { receipt, path: pathOf(delivered.leaves, place) });
  }
  return found;
}
