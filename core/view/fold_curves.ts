/** Folds closed steps and counted bytes into the curves of a run. */

import { byteKinds } from "./curves.ts";
import { dropLast, lengthOf, pushSeries, type Series } from "./series.ts";
import type { RunView } from "./view.ts";
import type { RecordOf } from "./view_record.ts";

const mostValues = 128; // even; as many as a page shows
const mostBytes = Number.MAX_SAFE_INTEGER; // a damaged log may say anything

export function noteBytes({ curves, bytes }: RunView, record: RecordOf<"bytesMoved">): void {
  curves.moved ??= { wires: 0, merge: 0, parameters: 0, control: 0 };
  for (const kind of byteKinds) {
    const moved = Number.isFinite(record[kind]) ? Math.max(0, record[kind]) : 0;
    curves.moved[kind] = Math.min(curves.moved[kind] + moved, mostBytes);
    bytes[kind] = Math.min(bytes[kind] + moved, mostBytes);
  }
}

/** Call before `recentSteps` gets the step. */
export function noteStep(view: RunView, { tokens, atMs }: { tokens: number; atMs: number }): void {
  const { curves, recentSteps } = view;
  const before = recentSteps.at(-1);
  const tookMs = before === undefined ? 0 : atMs - before.closedAtMs;
  push(curves.tokensPerSecond, tookMs > 0 ? (tokens * 1_000) / tookMs : null);
  push(curves.miners, readyMiners(view));
  const { moved } = curves;
  for (const kind of byteKinds) {
    push(curves.bytesPerToken[kind], moved === null || !(tokens > 0) ? null : moved[kind] / tokens);
  }
  curves.moved = null;
}

/** Drops measurements after `step`. */
export function cutCurves({ curves, losses }: RunView, step: number): void {
  const { tokensPerSecond, miners, bytesPerToken } = curves;
  const count = lengthOf(losses) - step;
  for (const series of [losses, tokensPerSecond, miners, ...Object.values(bytesPerToken)]) dropLast(series, count);
}

const push = (series: Series, value: number | null): void =>
  pushSeries(series, Number.isFinite(value) ? value : null, mostValues);

function readyMiners({ nodes }: RunView): number {
  let count = 0;
  for (const { role, state } of Object.values(nodes)) if (role === "miner" && state === "ready") count += 1;
  return count;
}
