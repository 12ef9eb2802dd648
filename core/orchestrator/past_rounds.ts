/**
 * A run that continues without the journal of its last process, from a checkpoint or its start: the log's reports still
 * count, and nodes banned in it stay out. Round numbers continue from the log's, so that none is reported twice.
 */

import type { PastRounds } from "../ledger/ledger_state.ts";
import { checkpointOf } from "./merge/retake.ts";
import { type OpenOptions, openOrchestrator, type OrchestratorState } from "./state.ts";

/** The checkpoint's round, unless it was already reported. */
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
