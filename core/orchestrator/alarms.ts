/**
 * Deadlines of single leases and nodes: one heap by time. An alarm that lost its reason is dropped when it rings, so nothing
 * is ever searched for in the heap; its size is bounded by what happens within the longest deadline.
 */

import { type Before, heapPop, heapPush } from "../heap.ts";
import type { Alarm, OrchestratorState } from "./state.ts";

const earlier: Before<Alarm> = (a, b) => a.atMs < b.atMs;

export function setAlarm(state: OrchestratorState, alarm: Alarm): void {
  heapPush(state.alarms, alarm, earlier);
}

/** The next alarm that rings by `nowMs`, taken out. */
export function nextAlarm(state: OrchestratorState, nowMs: number): Alarm | null {
  const first = state.alarms[0];
  if (first === undefined || first.atMs > nowMs) return null;
  return heapPop(state.alarms, earlier) ?? null;
}
