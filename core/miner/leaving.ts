/**
 * How a miner leaves when asked to stop. It first finishes what others wait for: the open step if it delivered results,
 * a merge that has begun, requested parameters. It takes no task of a later step.
 *
 * If most of its stage's work of the round would leave with it, the orchestrator ends the round, and the miner stays
 * for the merge. Both waits have a limit.
 */

import type { LeaveAnswered, RunTask } from "../protocol/message.ts";
import { type MinerEffect, record, send } from "./event.ts";
import type { MinerState } from "./state.ts";

const mostMs = 15_000;
const mostHandInMs = 45_000; // a service is killed 60 s after SIGTERM (cli/tools/service/systemd.ts)

type LeaveWith = (reason: string) => MinerEffect[];

export function requestLeave(
  state: MinerState,
  { reason, atOnce, nowMs }: { reason: string; atOnce: boolean; nowMs: number },
): MinerEffect[] {
  const { isLinked, phase, assignment, openStep, round, leaving } = state;
  const untilMs = atOnce || !isLinked ? nowMs : nowMs + mostMs;
  if (leaving !== null) {
    leaving.untilMs = Math.min(leaving.untilMs, untilMs);
    return [];
  }
  const asks = !atOnce && isLinked && phase === "joined" && assignment !== null;
  state.leaving = { reason, step: openStep, untilMs, answer: asks ? "awaited" : "free", round };
  return asks ? [send({ type: "askToLeave" })] : [];
}

export function onLeaveAnswered(
  { leaving, round }: MinerState,
  { message: { isNeeded }, nowMs }: { message: LeaveAnswered; nowMs: number },
): MinerEffect[] {
  if (leaving?.answer !== "awaited") return [];
  leaving.answer = isNeeded ? "needed" : "free";
  if (!isNeeded) return [];
  leaving.untilMs = nowMs + mostHandInMs;
  return [record({ type: "handingIn", round, mostMs: mostHandInMs })];
}

/** The task is reassigned when the miner has left. A miner that is needed must finish the open step. */
export const isTooLate = ({ leaving }: MinerState, { step }: Pick<RunTask, "step">): boolean =>
  leaving?.answer === "free" && step > (leaving.step ?? -1);

export function leaveWhenDone(state: MinerState, { stop, nowMs }: { stop: LeaveWith; nowMs: number }): MinerEffect[] {
  const { leaving, phase, round } = state;
  if (leaving === null || phase === "stopped") return [];
  const isMerged = round > leaving.round;
  const isWaiting = leaving.answer === "awaited" || (leaving.answer === "needed" && !isMerged);
  if (state.isLinked && phase === "joined" && nowMs < leaving.untilMs && (isWaiting || owes(state))) return [];
  const handedIn = leaving.answer === "needed" ? [record({ type: "handedIn", round: leaving.round, isMerged })] : [];
  const goodbye = phase === "idle" ? [] : [send({ type: "leaving", reason: leaving.reason })];
  return [...handedIn, ...goodbye, ...stop(leaving.reason)];
}

function owes(state: MinerState): boolean {
  const { assignment, isMerging, queue, running, side, unsent } = state;
  if (assignment === null) return false;
  const jobs = [...queue, ...(running === null || running.isObsolete ? [] : [running.job])];
  return isMerging || unsent.length > 0 || isInStep(state) ||
    jobs.some(({ type }) => type === "copyState" || type === "applyStep") ||
    [...side.values()].some(({ type }) => type === "uploadState");
}

/** Others use its results in the open step. */
function isInStep({ delivered, leaving, openStep, closedStep }: MinerState): boolean {
  return openStep !== null && openStep === leaving?.step && openStep !== closedStep &&
    delivered.step === openStep && delivered.hashes.size > 0;
}
