/**
 * Opened parameters: failed uploads are retried, and messages that may be lost are repeated, until the end of the next
 * round. The copies are in cli/node/stages/state_copies.ts.
 */

import type { StateShown } from "../protocol/message.ts";
import { type MinerEffect, send } from "./event.ts";
import { beside } from "./jobs.ts";
import type { MinerState } from "./state.ts";

const retryMs = 5_000;

export function sayShown(state: MinerState, shown: StateShown): MinerEffect[] {
  state.shown = [...state.shown.filter(({ round }) => round >= shown.round - 1), shown];
  return state.phase === "joined" ? [send(shown)] : []; // otherwise after the welcome
}

/**
 * Steps of the open round that the orchestrator waits for: if this miner was never asked for one, the header was lost,
 * and no step was applied since.
 */
export function copyMissed(state: MinerState, steps: readonly number[]): void {
  const { round, countedStep, running, side, shown, unsent } = state;
  if (running?.job.type === "applyMerge") return; // the parameters are being replaced
  const known = [...shown, ...unsent, ...side.values(), ...(running === null ? [] : [running.job])];
  for (const step of steps) {
    const isKnown = known.some((each) =>
      "step" in each && "round" in each && each.round === round && each.step === step
    );
    if (!isKnown && step > (countedStep ?? -1)) state.queue.push({ type: "copyState", round, step });
  }
}

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
  return state.phase === "joined" ? uploadAgain(state) : []; // otherwise after the welcome
}

/** What a broken link or a stopped orchestrator may have lost. */
export const showAgain = (state: MinerState): MinerEffect[] => [
  ...state.shown.map((shown) => send(shown)),
  ...uploadAgain(state),
];

function uploadAgain(state: MinerState): MinerEffect[] {
  const wanted = state.unsent.splice(0).filter(({ round }) => round >= state.round - 1);
  const works = wanted.map(({ round, step }) => ({ type: "uploadState", round, step }) as const);
  return works.map((work) => beside(state, work, work));
}
