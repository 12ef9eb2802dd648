/**
 * How a miner leaves when it is asked to stop: it first does what others wait for. That is the open step that it has delivered
 * results in, the merge that has begun, and parameters that it is to show. It takes no task of a later step meanwhile, and does not
 * wait longer than `mostMs`. It does not wait for a round's end: in the middle of one its gradients are lost with it.
 *
 * Without a link, or without its device, it leaves at once.
 */

import type { RunTask } from "../protocol/message.ts";
import { type MinerEffect, send } from "./event.ts";
import type { MinerState } from "./state.ts";

const mostMs = 15_000;

export type LeaveWith = (reason: string) => MinerEffect[];

export function requestLeave(
  state: MinerState,
  { reason, atOnce, nowMs }: { reason: string; atOnce: boolean; nowMs: number },
): void {
  const untilMs = atOnce || !state.isLinked ? nowMs : nowMs + mostMs;
  state.leaving ??= { reason, step: state.openStep, untilMs };
  state.leaving.untilMs = Math.min(state.leaving.untilMs, untilMs);
}

/** The hub will hand the task to another when the miner has left. */
export const isTooLate = ({ leaving }: MinerState, { step }: Pick<RunTask, "step">): boolean =>
  leaving !== null && step > (leaving.step ?? -1);

/** Leaves as soon as nothing is owed, or at the deadline. */
export function leaveWhenDone(state: MinerState, { stop, nowMs }: { stop: LeaveWith; nowMs: number }): MinerEffect[] {
  const { leaving, phase } = state;
  if (leaving === null || phase === "stopped") return [];
  if (state.isLinked && phase === "joined" && nowMs < leaving.untilMs && owes(state)) return [];
  const goodbye = phase === "idle" ? [] : [send({ type: "leaving", reason: leaving.reason })];
  return [...goodbye, ...stop(leaving.reason)];
}

function owes(state: MinerState): boolean {
  const { assignment, isMerging, queue, running, side, unsent } = state;
  if (assignment === null) return false;
  const jobs = [...queue, ...(running === null || running.isObsolete ? [] : [running.job])];
  return isMerging || unsent.length > 0 || isInStep(state) ||
    jobs.some(({ type }) => type === "copyState" || type === "applyStep") ||
    [...side.values()].some(({ type }) => type === "uploadState");
}

/** Others use what it has delivered in the step, which has not closed. */
function isInStep({ delivered, leaving, openStep, closedStep }: MinerState): boolean {
  return openStep !== null && openStep === leaving?.step && openStep !== closedStep &&
    delivered.step === openStep && delivered.hashes.size > 0;
}
