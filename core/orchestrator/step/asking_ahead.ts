/**
 * Requests for commitments that go out right behind a contributor's last likely gradient task, not after its result. A
 * miner works in order, so its commitment follows at once, and a step over slow links is two trips shorter.
 *
 * The answer counts if exactly the named tasks are then credited and delivered; otherwise, or after another gradient
 * task, a new request follows. A miner whose device may hold a gradient that does not count is asked only at the end,
 * because it must then repeat the others. Its patience (sealing.ts) begins with the last result.
 */

import { present } from "../../assert.ts";
import { type OrchestratorEffect, send } from "../event.ts";
import type { Member, OrchestratorState } from "../state.ts";
import { type ExpectedTask, tasksDelivered, tasksDeliveredAhead } from "./receipts.ts";
import { openWork, type StepWork } from "./step_state.ts";

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

/** In the order in which the member got them; null: none, or more are likely to follow. */
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

/** The member's request if it named exactly its results; it is no longer ahead either way. */
export function takeAskedAhead(state: OrchestratorState, member: Member): number | null {
  const work = openWork(state);
  const ahead = work.askedAhead.get(member.node);
  if (ahead === undefined) return null;
  work.askedAhead.delete(member.node);
  const isSame = (a: readonly string[], b: readonly string[]) =>
    a.length === b.length && a.every((each, i) => each === b[i]);
  const isAsNamed = isSame(ahead.tasks, member.stepTasks) && isSame(ahead.delivered, tasksDelivered(state, member));
  return isAsNamed ? ahead.request : null;
}
