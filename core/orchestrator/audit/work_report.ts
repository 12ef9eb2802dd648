/**
 * Each miner's work in a merged round, in units of device work, reported to the validators that turn it into scores.
 * Work dropped because its input was in doubt (step/remaking.ts) counts, work of abandoned rounds does not. A report
 * also takes back forfeits of earlier ones.
 */

import type { NodeId } from "../../ids.ts";
import { type Forfeit, roundsBooked } from "../../score/work_score.ts";
import { recoverQualities, shareRecovery } from "../../score/payload_quality.ts";
import { type OrchestratorEffect, send } from "../event.ts";
import { logRound } from "../run_log.ts";
import type { RoundReport } from "../../score/work_score.ts";
import type { OrchestratorState } from "../state.ts";
import type { StepOutcome } from "../step/step_outcome.ts";

const reportsKept = roundsBooked;
const mostMinersInMessage = 8192; // about 450 kB of header

export function countWork({ roundUnits }: OrchestratorState, { miners }: StepOutcome): void {
  for (const { node, units, isPaid } of miners) {
    if (isPaid && units > 0) roundUnits.set(node, (roundUnits.get(node) ?? 0) + units);
  }
}

const shareOfWithholders = 0.5; // of a round's pay, after a missed merge deadline

/** Settles the run's pay: the last forfeits; everything else vests. */
export function reportEnd(state: OrchestratorState): OrchestratorEffect[] {
  return reportRound(state, { round: state.round, isLast: true });
}

/** `isLast`: no other report will follow. */
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
