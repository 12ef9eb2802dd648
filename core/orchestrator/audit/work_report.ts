/**
 * Who did what in a round, for the validators that turn it into scores.
 *
 * Every item of a closed step is counted once, for the miner whose result was credited, in units of device work; work that was
 * dropped as its input was in doubt (step/remaking.ts) counts as well. A report goes out
 * when the round is merged; the last few are kept for validators that join later. What a run goes back over is not reported.
 */

import type { NodeId } from "../../ids.ts";
import { type OrchestratorEffect, send } from "../event.ts";
import type { OrchestratorState, RoundReport } from "../state.ts";
import type { StepOutcome } from "../step/step_outcome.ts";

export const reportsKept = 8;
const mostMinersInMessage = 8192; // about 450 kB of header

/** Adds a closed step to what the round's report will say. */
export function countWork({ roundUnits }: OrchestratorState, { miners }: StepOutcome): void {
  for (const { node, units, isPaid } of miners) {
    if (isPaid && units > 0) roundUnits.set(node, (roundUnits.get(node) ?? 0) + units);
  }
}

const shareOfWithholders = 0.5; // of a round's pay, for who did its tasks but let the others wait in the merge

/** Of the round that was merged just now. */
export function reportRound(state: OrchestratorState, round: number): OrchestratorEffect[] {
  const report: RoundReport = { round, units: new Map(state.roundUnits) };
  for (const node of state.unpaid) {
    const units = report.units.get(node);
    if (units !== undefined) report.units.set(node, shareOfWithholders * units);
  }
  state.unpaid.clear();
  state.roundUnits.clear();
  state.reports.push(report);
  if (state.reports.length > reportsKept) state.reports.shift();
  const expelled = [...state.expelled].slice(-mostMinersInMessage);
  return [...state.validators].flatMap((node) => messagesOf(node, { report, expelled }));
}

/** What a validator that has just joined missed. */
export function pastReports(state: OrchestratorState, node: NodeId): OrchestratorEffect[] {
  const expelled = [...state.expelled].slice(-mostMinersInMessage);
  return state.reports.flatMap((report) => messagesOf(node, { report, expelled }));
}

function messagesOf(
  node: NodeId,
  { report: { round, units }, expelled }: { report: RoundReport; expelled: readonly NodeId[] },
): OrchestratorEffect[] {
  const miners = [...units.keys()];
  const effects: OrchestratorEffect[] = [];
  for (let at = 0; at < miners.length; at += mostMinersInMessage) {
    const part = miners.slice(at, at + mostMinersInMessage);
    effects.push(
      send(node, {
        type: "workReport",
        round,
        miners: part,
        units: part.map((miner) => units.get(miner) ?? 0),
        expelled: at === 0 ? expelled : [],
      }),
    );
  }
  return effects;
}
