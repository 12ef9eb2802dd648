/**
 * Asks for commitments ahead: the request to commit a gradient goes out right behind the last gradient task that a
 * contributor is likely to get in the step, not after its result. A miner does its work in order, so its commitment
 * follows the result at once, and a step over slow links is two trips shorter.
 *
 * The request names tasks whose results are still to come. Its answer counts if exactly these are then credited and
 * delivered; otherwise, and if the contributor gets another gradient task after all, the request is void and a new one
 * follows. A miner whose device may hold a gradient that does not count is asked once, at the end, because it must then
 * repeat the others. So a wrong guess costs a request, and the answer's root is checked against the results as they
 * came. Its patience (sealing.ts) begins with the last result; until then the lease has its own.
 *
 * Out of scope: who is asked without this, and the answers (sealing.ts).
 */

import { present } from "../../assert.ts";
import { type OrchestratorEffect, send } from "../event.ts";
import type { Member, OrchestratorState } from "../state.ts";
import { type ExpectedTask, tasksDelivered, tasksDeliveredAhead } from "./receipts.ts";
import type { StepWork } from "./step_state.ts";

/** Called when nothing more can be leased in this turn. */
export function askAhead(state: OrchestratorState): OrchestratorEffect[] {
  const { work, round, step } = state;
  if (work === null || work.handed.size === 0) return [];
  const effects: OrchestratorEffect[] = [];
  for (const node of work.handed) {
    const member = state.members.get(node);
    const expected = member === undefined || work.uncounted.has(node) ? null : lastTasks(work, member);
    if (member === undefined || expected === null) continue;
    const request = ++work.seals;
    const tasks = [...member.stepTasks, ...expected.map(({ task }) => task)];
    const delivered = tasksDeliveredAhead(state, member, expected);
    work.askedAhead.set(node, { request, tasks, delivered });
    effects.push(send(node, { type: "sealStep", round, step, request, tasks, delivered }));
  }
  work.handed.clear();
  return effects;
}

/**
 * The gradient tasks that the member holds, in the order in which it got them; null: none, or more are likely to
 * follow.
 */
function lastTasks(work: StepWork, { node, stage, leases, stepTasks }: Member): ExpectedTask[] | null {
  if (stage === null || present(work.unowned[stage], "every stage has a count") > 0) return null;
  const expected: ExpectedTask[] = [];
  let isTail = false;
  for (const task of leases) {
    const item = present(work.leased.get(task), "a member's lease is in the table");
    if (item.direction === "forward") return null; // its backward will follow
    if (item.direction === "turnaround") isTail = true;
    expected.push({ task, item });
  }
  if (expected.length === 0) return null;
  const isAll = isTail || stepTasks.length + expected.length >= (work.forwards.get(node) ?? 0);
  return isAll ? expected : null;
}

/**
 * The member's request that went out ahead, if its results are those that the request named; it is no longer ahead
 * either way.
 */
export function takeAskedAhead(state: OrchestratorState, member: Member): number | null {
  const work = present(state.work, "an open step");
  const ahead = work.askedAhead.get(member.node);
  if (ahead === undefined) return null;
  work.askedAhead.delete(member.node);
  const isSame = (a: readonly string[], b: readonly string[]) =>
    a.length === b.length && a.every((each, i) => each === b[i]);
  const isAsNamed = isSame(ahead.tasks, member.stepTasks) && isSame(ahead.delivered, tasksDelivered(state, member));
  return isAsNamed ? ahead.request : null;
}
