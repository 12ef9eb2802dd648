/**
 * Each miner's work in a round, reported to the validators that turn it into scores.
 *
 * Every item of a closed step is counted once, for the miner whose result was credited, in units of device work; work dropped
 * because its input was in doubt (step/remaking.ts) counts as well. A report goes out when the round is merged; the last few
 * are kept for validators that join later. Work of abandoned rounds is not reported. Of a miner whose payload was tried and gained
 * far less than its peers', only a share counts (held_out/payload_trials.ts). Who has yet to show parameters of the round, or of
 * whom the hub has yet to look at them, is credited with the next one: else it would be paid before anybody can know what it did.
 */

import type { NodeId } from "../../ids.ts";
import { recoverQualities, shareRecovery } from "../../score/payload_quality.ts";
import { type OrchestratorEffect, send } from "../event.ts";
import { logRound } from "../run_log.ts";
import type { OrchestratorState, RoundReport } from "../state.ts";
import type { StepOutcome } from "../step/step_outcome.ts";

export const reportsKept = 8;
const mostMinersInMessage = 8192; // about 450 kB of header

/** Adds a closed step to the round's report. */
export function countWork({ roundUnits }: OrchestratorState, { miners }: StepOutcome): void {
  for (const { node, units, isPaid } of miners) {
    if (isPaid && units > 0) roundUnits.set(node, (roundUnits.get(node) ?? 0) + units);
  }
}

const shareOfWithholders = 0.5; // of a round's pay, for miners that did their tasks but withheld a merge duty

/** The report of the round just merged. `isLast`: no other will follow. */
export function reportRound(
  state: OrchestratorState,
  { round, isLast }: { round: number; isLast: boolean },
): OrchestratorEffect[] {
  const units = new Map(state.roundUnits);
  const halved = [...state.unpaid].filter((node) => units.has(node));
  for (const node of halved) units.set(node, shareOfWithholders * units.get(node)!);
  const qualityOf = (node: NodeId) => state.qualities.get(node) ?? 1;
  for (const [node, earned] of units) units.set(node, earned * qualityOf(node));
  const deferred = isLast ? new Map<NodeId, number>() : takeDeferred(state, { units, round });
  for (const [node, credit] of state.deferred) units.set(node, (units.get(node) ?? 0) + credit);
  state.deferred.clear();
  for (const [node, credit] of deferred) state.deferred.set(node, credit);
  const report: RoundReport = { round, units };
  const qualities = [...units.keys()].map(qualityOf);
  recoverQualities(state.qualities, shareRecovery);
  state.unpaid.clear();
  state.roundUnits.clear();
  state.reports.push(report);
  if (state.reports.length > reportsKept) state.reports.shift();
  const expelled = [...state.expelled].slice(-mostMinersInMessage);
  const messages = [...state.validators].flatMap((node) => messagesOf(node, { report, expelled }));
  return [logRound(report, { halved, qualities, deferred, expelled }), ...messages];
}

/** The credits of those of whom parameters of the round are awaited, taken out of its report. */
function takeDeferred(
  { audit }: OrchestratorState,
  { units, round }: { units: Map<NodeId, number>; round: number },
): Map<NodeId, number> {
  const deferred = new Map<NodeId, number>();
  for (const [node, states] of audit.awaited) {
    const credit = units.get(node);
    if (credit === undefined || !states.some((awaited) => awaited.round === round)) continue;
    deferred.set(node, credit);
    units.delete(node);
  }
  return deferred;
}

/** The reports that a newly joined validator missed. */
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
