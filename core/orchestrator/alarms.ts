/**
 * Deadlines of single leases and nodes: one heap by time. An obsolete alarm is dropped when it rings, so the heap is
 * never searched; its size is bounded by the events within the longest deadline.
 */

import { type Before, heapPop, heapPush } from "../heap.ts";
import type { Alarm, OrchestratorState } from "./state.ts";

const earlier: Before<Alarm> = (a, b) => a.atMs < b.atMs;

export function setAlarm(state: OrchestratorState, alarm: Alarm): void {
  heapPush(state.alarms, alarm, earlier);
}

export function nextAlarm(state: OrchestratorState, nowMs: number): Alarm | null {
  const first = state.alarms[0];
  if (first === undefined || first.atMs > nowMs) return null;
  return heapPop(state.alarms, earlier) ?? null;
}
