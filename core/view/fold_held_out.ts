/**
 * The curve of held-out losses: which step each evaluation belongs to, and how the curve stays short.
 *
 * A round's evaluation arrives while the next steps run, so the step of each merge is remembered. Invariant: steps
 * ascend, and at most `maxPoints` points are kept; when there are more, every second one is dropped, except the first
 * and the newest.
 */

import type { RunView } from "./view.ts";

const maxPoints = 128; // even
const knownRounds = 8;

/** A round begins with the parameters of `step`. */
export function noteRoundStart(view: RunView, start: { round: number; step: number }): void {
  const before = view.roundStarts.filter(({ round }) => round < start.round);
  view.roundStarts = [...before, start].slice(-knownRounds);
}

export function noteHeldOut(view: RunView, { round, loss }: { round: number; loss: number }): void {
  const step = round === 0 ? 0 : view.roundStarts.find((start) => start.round === round)?.step;
  if (step === undefined) return; // too late for a point on the curve
  const before = view.heldOut.filter((point) => point.step < step);
  const after = view.heldOut.filter((point) => point.step > step);
  view.heldOut = [...before, { round, step, loss }, ...after];
  if (view.heldOut.length > maxPoints) {
    view.heldOut = view.heldOut.filter((_, i) => i === 0 || i === maxPoints || i % 2 === 0);
  }
}

/** The run returns to `step`: later measurements no longer count. */
export function forgetHeldOutAfter(view: RunView, step: number): void {
  view.heldOut = view.heldOut.filter((point) => point.step <= step);
  view.roundStarts = view.roundStarts.filter((start) => start.step <= step);
}
