/**
 * A run that continues without the journal of its last process, from a checkpoint or from its start: the log's reports
 * still count, and are sent to validators that join, and nodes banned in it stay out.
 *
 * A reported round is not reported again under its number, so round numbers continue from the log's. A checkpoint under
 * the new number follows at once, as after a rollback (merge/retake.ts). Out of scope: reading the log.
 */

import type { PastRounds } from "../ledger/ledger_state.ts";
import { checkpointOf } from "./merge/retake.ts";
import { type OpenOptions, openOrchestrator, type OrchestratorState } from "./state.ts";

/** The number of the round that begins: the checkpoint's, unless it was already reported. */
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
