/**
 * An item in doubt that its stage leaves undone: every connected replica has failed it, or holds it far longer than
 * expected.
 *
 * A replica that has not tried the item could tell a bad input from a bad stage. One that is disconnected, loads its
 * stage or answers nothing may be an accomplice of the input's maker, and the step would wait for it forever. The input
 * is recomputed instead, which blames nobody and costs one microbatch. If its results are then large but usable again,
 * one is accepted as if all had tried (`isAgreed`), once the deadline of all the others has passed, so those that
 * failed it may have it again. A verdict on the stage waits for every replica. Out of scope: leases and their alarms
 * (leases.ts).
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

/** A lease's alarm rings: its result is overdue, by the deadline or by its miner's pace. */
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

/** Recomputes the item's input if no connected replica can be expected to tell more. */
export function remakeIfLeft(state: OrchestratorState, item: WorkItem): OrchestratorEffect[] {
  if (!isLeft(state, item) || isShared(state, item)) return [];
  const why = item.refused.some(({ doubt }) => isUsable(doubt)) ? "agreed" : "hopeless";
  if (!mayRemake(state, { item, why })) return [];
  const { members } = rosterOf(state, item.stage);
  // Except loading ones.
  return remake(state, { item, isUnanimous: members.every(({ node }) => hasRefused(item, node)) });
}
