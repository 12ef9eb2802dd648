/**
 * Pay that a miner loses before it is due (core/score/work_score.ts), because nobody can tell what it did for it.
 *
 * Who is to show its parameters, and leaves or stays silent instead, loses the pay of that round and of those since. That
 * may be bad luck, so a miner that has worked here for `roundsRemembered` rounds, and was reliable in them, loses no more. Anyone
 * else loses all that is not due: else a cheat would leave whenever it is asked, come back under another hotkey, and keep what it
 * got for the rounds before. The next report names who lost what.
 */

import type { NodeId } from "../../ids.ts";
import { firstNotDue } from "../../score/work_score.ts";
import { hasLapsed, noteAbsence, noteWithheld, roundsRemembered } from "../members/blame.ts";
import { notify } from "../members/notices.ts";
import type { OrchestratorState } from "../state.ts";

/** Asked before the lapse is noted. */
export function isExcusable(state: OrchestratorState, node: NodeId): boolean {
  const { standings, reports, round } = state;
  const absentRound = standings.get(node)?.absentRound ?? null;
  const wasAway = absentRound !== null && absentRound < round && absentRound + roundsRemembered >= round;
  const worked = reports.filter(({ isLast }) => !isLast).at(-roundsRemembered)?.units.get(node) ?? 0;
  return !wasAway && !hasLapsed(state, node) && worked > 0;
}

/** What it earned from this round on. @default all that is not due */
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
  for (const { units } of lost) units.set(node, 0); // and not nothing: a validator that returns gets the reports again
  forfeits.set(node, Math.min(from, forfeits.get(node) ?? from));
}

/** The member goes, or has gone, without showing what it was to show. `fromRound`: the first of that. */
export function noteHidden(state: OrchestratorState, { node, fromRound }: { node: NodeId; fromRound: number }): void {
  const isExcused = isExcusable(state, node);
  const note = isExcused ? noteAbsence : noteWithheld;
  note(state, { node, duty: "showing" });
  forfeit(state, { node, fromRound: isExcused ? fromRound : null });
}
