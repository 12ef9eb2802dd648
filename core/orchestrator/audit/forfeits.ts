/**
 * Forfeits unvested pay for work that can no longer be checked. A drawn miner that leaves or does not answer forfeits
 * that round's and later pay. Unless it has worked reliably for some rounds, it forfeits all, so that a cheat cannot
 * leave whenever it is drawn, rejoin under another hotkey, and keep earlier pay.
 */

import type { NodeId } from "../../ids.ts";
import { firstNotDue } from "../../score/work_score.ts";
import { hasLapsed, noteAbsence, noteWithheld, roundsRemembered } from "../members/blame.ts";
import { notify } from "../members/notices.ts";
import type { OrchestratorState } from "../state.ts";

/** Call before the missed deadline is recorded. */
export function isExcusable(state: OrchestratorState, node: NodeId): boolean {
  const { standings, reports, round } = state;
  const absentRound = standings.get(node)?.absentRound ?? null;
  const wasAway = absentRound !== null && absentRound < round && absentRound + roundsRemembered >= round;
  const worked = reports.filter(({ isLast }) => !isLast).at(-roundsRemembered)?.units.get(node) ?? 0;
  return !wasAway && !hasLapsed(state, node) && worked > 0;
}

/** `fromRound`: null for all unvested pay. */
export function forfeit(
  state: OrchestratorState,
  { node, fromRound }: { node: NodeId; fromRound: number | null },
): void {
  const { reports, roundUnits, forfeits } = state;
  const hasOpen = roundUnits.delete(node);
  const newestRound = reports.at(-1)?.round ?? -1;
  const endedRound = reports.findLast(({ isLast }) => isLast)?.round ?? -1;
  const from = Math.max(fromRound ?? 0, firstNotDue({ newestRound, endedRound }));
  const lost = reports.filter(({ round, units }) => round >= from && units.has(node));
  const first = lost[0]?.round ?? (hasOpen ? state.round : null);
  if (first !== null) notify(state, node, { type: "notice", about: "forfeit", fromRound: first });
  if (lost.length === 0) return;
  for (const { units } of lost) units.set(node, 0); // an explicit zero: a returning validator gets the reports again
  forfeits.set(node, Math.min(from, forfeits.get(node) ?? from));
}

/** The member leaves without opening its parameters. `fromRound`: the first round for which they were requested. */
export function noteHidden(state: OrchestratorState, { node, fromRound }: { node: NodeId; fromRound: number }): void {
  const isExcused = isExcusable(state, node);
  const note = isExcused ? noteAbsence : noteWithheld;
  note(state, { node, duty: "showing" });
  forfeit(state, { node, fromRound: isExcused ? fromRound : null });
}
