/**
 * Opened parameters that the orchestrator asked for: a failed upload is retried, and messages that may have been lost
 * with their session are repeated, as long as the orchestrator may wait for them, until the end of the next round.
 *
 * Out of scope: the copies themselves (cli/node/stages/state_copies.ts).
 */

import type { StateShown } from "../protocol/message.ts";
import { type MinerEffect, send } from "./event.ts";
import { beside } from "./jobs.ts";
import type { MinerState } from "./state.ts";

const retryMs = 5_000;

/** The parameters are in the store. */
export function sayShown(state: MinerState, shown: StateShown): MinerEffect[] {
  state.shown = [...state.shown.filter(({ round }) => round >= shown.round - 1), shown];
  return state.phase === "joined" ? [send(shown)] : []; // otherwise sent with the answer to the welcome
}

/**
 * The orchestrator waits for these steps of the open round. If this miner was never asked for one, its header was lost
 * with the session, and it has applied nothing since.
 */
export function copyMissed(state: MinerState, steps: readonly number[]): void {
  const { round, countedStep, running, side, shown, unsent } = state;
  if (running?.job.type === "applyMerge") return; // the round's parameters are being replaced
  const known = [...shown, ...unsent, ...side.values(), ...(running === null ? [] : [running.job])];
  for (const step of steps) {
    const isKnown = known.some((each) =>
      "step" in each && "round" in each && each.round === round && each.step === step
    );
    if (!isKnown && step > (countedStep ?? -1)) state.queue.push({ type: "copyState", round, step });
  }
}

/** An upload has failed. */
export function noteUnsent(
  state: MinerState,
  { round, step, nowMs }: { round: number; step: number; nowMs: number },
): void {
  state.unsent.push({ round, step });
  state.retryAtMs = nowMs + retryMs;
}

export function retryUploads(state: MinerState, nowMs: number): MinerEffect[] {
  if (state.retryAtMs === null || nowMs < state.retryAtMs) return [];
  state.retryAtMs = null;
  return state.phase === "joined" ? uploadAgain(state) : []; // otherwise with the answer to the welcome
}

/** Repeats what a broken link or a stopped orchestrator may have kept from it. */
export const showAgain = (state: MinerState): MinerEffect[] => [
  ...state.shown.map((shown) => send(shown)),
  ...uploadAgain(state),
];

function uploadAgain(state: MinerState): MinerEffect[] {
  const wanted = state.unsent.splice(0).filter(({ round }) => round >= state.round - 1);
  const works = wanted.map(({ round, step }) => ({ type: "uploadState", round, step }) as const);
  return works.map((work) => beside(state, work, work));
}
