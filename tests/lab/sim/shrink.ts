/**
 * A smaller simulation that still fails: fewer kinds of fault, fewer miners, less time.
 *
 * Greedy and bounded. Any broken rule counts as failing, because a smaller swarm may hit the same bug at another rule.
 */

import type { FaultKind } from "./faults.ts";
import { atOnce, kindsOf, type SimFailure, type SimOptions, simulateInTurns } from "./simulate.ts";

export interface Shrunk {
  readonly options: SimOptions;
  readonly failure: SimFailure;
  readonly runs: number;
}

const mostRuns = 100;
const fewestMiners = 2;
const leastMinutes = 0.25;
const minuteMs = 60_000;

export const shrink = (failing: SimOptions, failure: SimFailure): Shrunk => atOnce(shrinkInTurns(failing, failure));

export function* shrinkInTurns(failing: SimOptions, failure: SimFailure): Generator<number, Shrunk> {
  let best: Shrunk = { options: { ...failing, faults: kindsOf(failing) }, failure, runs: 0 };
  let runs = 0;
  for (let candidates = smaller(best.options, failure); candidates.length > 0 && runs < mostRuns;) {
    const [candidate, ...others] = candidates;
    const result = yield* simulateInTurns(candidate!);
    runs += 1;
    candidates = others;
    if (result.ok) continue;
    best = { options: candidate!, failure: result.failure, runs };
    candidates = smaller(best.options, best.failure);
  }
  return { ...best, runs };
}

/** The largest cuts first. */
function smaller(options: SimOptions, { virtualMs }: SimFailure): SimOptions[] {
  const { miners, minutes } = options;
  const kinds = options.faults as readonly FaultKind[];
  const cuts: SimOptions[] = [];
  const failedAt = Math.ceil(virtualMs / minuteMs * 100) / 100; // minutes
  if (failedAt < minutes) cuts.push({ ...options, minutes: failedAt });
  if (miners >= 2 * fewestMiners) cuts.push({ ...options, miners: miners >> 1 });
  if (minutes >= 2 * leastMinutes) cuts.push({ ...options, minutes: minutes / 2 });
  for (const kind of kinds) cuts.push({ ...options, faults: kinds.filter((other) => other !== kind) });
  if (miners > fewestMiners) cuts.push({ ...options, miners: Math.floor((3 * miners) / 4) });
  return cuts;
}
