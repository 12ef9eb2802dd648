/**
 * An item in doubt that every connected replica has failed or holds far longer than expected.
 *
 * A replica that has not tried it could tell a bad input from a bad stage, but a disconnected, loading or silent one
 * may be an accomplice of the input's maker, and the step would wait forever. So the input is recomputed, which blames
 * nobody. If the results are large but usable again, one is accepted as if all had tried, once the deadline of all the
 * others has passed. A verdict on the stage waits for every replica.
 */

import type { TaskId } from "../../ids.ts";
import type { OrchestratorEffect } from "../event.ts";
import { rosterOf } from "../members/replicas.ts";
import type { OrchestratorState } from "../state.ts";
import { onLeaseAlarm } from "./leases.ts";
import { isLeft, isShared, mayTryAgain } from "./refusals.ts";
import { mayRemake, remake } from "./remaking.ts";
import { isUsable } from "./result_check.ts";
import { hasRefused, type WorkItem } from "./step_state.ts";

/** A lease's result is overdue, by its deadline or its miner's pace. */
export function onOverdue(
  state: OrchestratorState,
  { task, nowMs }: { task: TaskId; nowMs: number },
): OrchestratorEffect[] {
  const item = state.work?.leased.get(task);
  const held = item?.leases.find((each) => each.task === task);
  if (item === undefined || held === undefined) return [];
  if (!item.overdue.includes(held.node)) item.overdue.push(held.node);
  if (held.deadlineMs <= nowMs && !item.lapsed.includes(held.node)) item.lapsed.push(held.node);
  const effects = onLeaseAlarm(state, { task, nowMs, isOpenToAll: mayTryAgain(state, item) });
  return [...effects, ...remakeIfLeft(state, item)];
}

export function remakeIfLeft(state: OrchestratorState, item: WorkItem): OrchestratorEffect[] {
  if (!isLeft(state, item) || isShared(state, item)) return [];
  const why = item.refused.some(({ doubt }) => isUsable(doubt)) ? "agreed" : "hopeless";
  if (!mayRemake(state, { item, why })) return [];
  const { members } = rosterOf(state, item.stage);
  // `members` excludes loading ones.
  return remake(state, { item, isUnanimous: members.every(({ node }) => hasRefused(item, node)) });
}
