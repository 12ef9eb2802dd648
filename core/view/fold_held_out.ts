/**
 * The curve of held-out losses, with the step of each evaluation: it arrives during later steps, so merges' steps are
 * remembered. Steps ascend; beyond `maxPoints` every second point is dropped, except the first and the newest.
 */

import type { RunView } from "./view.ts";

const maxPoints = 128; // even
const knownRounds = 8;

/** `step`: whose parameters the round begins with. */
export function noteRoundStart(view: RunView, start: { round: number; step: number }): void {
  const before = view.roundStarts.filter(({ round }) => round < start.round);
  view.roundStarts = [...before, start].slice(-knownRounds);
}

export function noteHeldOut(view: RunView, { round, loss }: { round: number; loss: number }): void {
  const step = round === 0 ? 0 : view.roundStarts.find((start) => start.round === round)?.step;
  if (step === undefined) return; // too late for the curve
  const before = view.heldOut.filter((point) => point.step < step);
  const after = view.heldOut.filter((point) => point.step > step);
  view.heldOut = [...before, { round, step, loss }, ...after];
  if (view.heldOut.length > maxPoints) {
    view.heldOut = view.heldOut.filter((_, i) => i === 0 || i === maxPoints || i % 2 === 0);
  }
}

export function forgetHeldOutAfter(view: RunView, step: number): void {
  view.heldOut = view.heldOut.filter((point) => point.step <= step);
  view.roundStarts = view.roundStarts.filter((start) => start.step <= step);
}
