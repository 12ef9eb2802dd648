/**
 * Each miner's work in a round, reported to the validators that turn it into scores.
 *
 * Every item of a closed step is counted once, for the miner whose result was credited, in units of device work; work
 * dropped because its input was in doubt (step/remaking.ts) counts as well. A report goes out when the round is merged;
 * the last few are kept for validators that join later. Work of abandoned rounds is not reported. If a miner's payload
 * was evaluated and gained far less than its peers', only a share counts (held_out/payload_trials.ts). A report also
 * takes back forfeits of earlier ones (forfeits.ts); so does a last one, without work, that ends the run.
 */

import type { NodeId } from "../../ids.ts";
import { type Forfeit, roundsBooked } from "../../score/work_score.ts";
import { recoverQualities, shareRecovery } from "../../score/payload_quality.ts";
import { type OrchestratorEffect, send } from "../event.ts";
import { logRound } from "../run_log.ts";
import type { RoundReport } from "../../score/work_score.ts";
import type { OrchestratorState } from "../state.ts";
import type { StepOutcome } from "../step/step_outcome.ts";

export const reportsKept = roundsBooked;
const mostMinersInMessage = 8192; // about 450 kB of header

/** Adds a closed step to the round's report. */
export function countWork({ roundUnits }: OrchestratorState, { miners }: StepOutcome): void {
  for (const { node, units, isPaid } of miners) {
    if (isPaid && units > 0) roundUnits.set(node, (roundUnits.get(node) ?? 0) + units);
  }
}

const shareOfWithholders = 0.5; // of a round's pay, for miners that did their tasks but missed a merge deadline

/** Settles the run's pay once its last round's audits are over: the last forfeits, and everything else vests. */
export function reportEnd(state: OrchestratorState): OrchestratorEffect[] {
  return reportRound(state, { round: state.round, isLast: true });
}

/** The report of the round just merged, or of none. `isLast`: no other will follow. */
export function reportRound(
  state: OrchestratorState,
  { round, isLast = false }: { round: number; isLast?: boolean },
): OrchestratorEffect[] {
  const units = new Map(state.roundUnits);
  const halved = [...state.unpaid].filter((node) => units.has(node));
  for (const node of halved) units.set(node, shareOfWithholders * units.get(node)!);
  const qualityOf = (node: NodeId) => state.qualities.get(node) ?? 1;
  for (const [node, earned] of units) units.set(node, earned * qualityOf(node));
  const report: RoundReport = { round, units, isLast };
  const qualities = [...units.keys()].map(qualityOf);
  recoverQualities(state.qualities, shareRecovery);
  state.unpaid.clear();
  state.roundUnits.clear();
  if (!isLast) state.reports.push(report);
  if (state.reports.length > reportsKept) state.reports.shift();
  const expelled = [...state.expelled].slice(-mostMinersInMessage);
  const forfeits = [...state.forfeits].map(([miner, fromRound]) => ({ miner, fromRound }));
  state.forfeits.clear();
  const messages = [...state.validators].flatMap((node) => messagesOf(node, { report, expelled, forfeits }));
  return [logRound(report, { halved, qualities, forfeits, expelled }), ...messages];
}

/** The reports that a newly joined validator missed. */
export function pastReports(state: OrchestratorState, node: NodeId): OrchestratorEffect[] {
  const expelled = [...state.expelled].slice(-mostMinersInMessage);
  return state.reports.flatMap((report) => messagesOf(node, { report, expelled, forfeits: [] }));
}

function messagesOf(
  node: NodeId,
  { report: { round, units, isLast }, expelled, forfeits }: {
    report: RoundReport;
    expelled: readonly NodeId[];
    forfeits: readonly Forfeit[];
  },
): OrchestratorEffect[] {
  const miners = [...units.keys()];
  const effects: OrchestratorEffect[] = [];
  for (let at = 0; at === 0 || at < miners.length; at += mostMinersInMessage) {
    const part = miners.slice(at, at + mostMinersInMessage);
    effects.push(
      send(node, {
        type: "workReport",
        round,
        miners: part,
        units: part.map((miner) => units.get(miner) ?? 0),
        expelled: at === 0 ? expelled : [],
        forfeits: at === 0 ? forfeits : [],
        isLast,
      }),
    );
  }
  return effects;
}
