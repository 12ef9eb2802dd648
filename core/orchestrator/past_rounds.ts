/**
 * A run that goes on without the journal of its last process, from a checkpoint or from its start: what the log says was reported
 * still counts, and is told to validators that join, and whom it says was expelled stays out.
 *
 * A round that was reported is not reported again under its number, so round numbers go on from the log's. A checkpoint under
 * the new number follows at once, as after going back (merge/retake.ts). Out of scope: reading the log.
 */

import type { PastRounds } from "../ledger/ledger_state.ts";
import { checkpointOf } from "./merge/retake.ts";
import { type OpenOptions, openOrchestrator, type OrchestratorState } from "./state.ts";

/** The number of the round that begins: the checkpoint's, unless it was reported already. */
export function nextRound({ reports }: PastRounds, from: OpenOptions["from"]): number {
  return Math.max(from?.sources.round ?? 0, (reports.at(-1)?.round ?? -1) + 1);
}

export function openAfter(options: OpenOptions, past: PastRounds): OrchestratorState {
  const { from, stages } = options;
  const round = nextRound(past, from);
  if (round === 0) return openOrchestrator(options);
  const sources = { round, stages: from?.sources.stages ?? stages.map(() => ({ type: "initial" } as const)) };
  const start = { step: from?.step ?? 0, sources };
  const state = openOrchestrator({ ...options, from: start });
  state.counters.merges = from?.sources.round ?? 0;
  for (const report of past.reports) state.reports.push({ ...report, units: new Map(report.units) });
  for (const node of past.expelled) state.expelled.add(node);
  if (round !== from?.sources.round) state.upload = checkpointOf(state, start);
  return state;
}
