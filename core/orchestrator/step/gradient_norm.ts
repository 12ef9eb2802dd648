/**
 * The norm of a step's gradient over the whole model, from the contributors' reports.
 *
 * The squared norm is the sum over stages of the mean over replicas of ||g||^2, g being the mean over a replica's
 * tasks; with one replica per stage that equals single-process training. Invariant: no report scales the others' step
 * by more than honest ones differ: one far above the median of its peers and the stage's last steps counts as the
 * median. It stays paid, because the peers may be the dishonest ones; only a report impossible for a float32 gradient
 * is recorded and unpaid. A median negligible beside the other stages is not a reference.
 */

import { assert, present } from "../../assert.ts";
import { fault } from "../../fault.ts";
import type { NodeId, StageIndex } from "../../ids.ts";
import { type OrchestratorEffect, record } from "../event.ts";
import { replicasOf } from "../members/replicas.ts";
import { lowerMedian } from "../../lower_median.ts";
import { largestOf, noteGradient, type StageScales } from "./scale_book.ts";
import type { OrchestratorState } from "../state.ts";
import type { StepWork } from "./step_state.ts";

const mostAbovePeers = 16; // of the square; honest replicas with one and many tasks differ as much
const mostUsual = 3; // of the square
const mostAboveAlone = 1e4; // for a stage's only replica, against its last steps
const mostBetweenStages = 1e6; // of the square, from the middle stage
const largestFloat = 2 ** 128; // above every float32 value
const leastFloat = 2 ** -149; // the least float32 value above zero
const stepsForPast = 4; // with fewer there is no history

interface Report {
  readonly node: NodeId | null; // null: it has left
  readonly square: number; // squared L2 norm of its mean gradient
  readonly sum: number; // squared L2 norm of its whole gradient
  readonly tasks: number;
}

export interface GradientNorm {
  readonly squareSum: number;
  readonly outliers: ReadonlySet<NodeId>; // nodes whose report cannot be right
  readonly odd: ReadonlySet<NodeId>; // outliers among peers: their gradients are repeated first
  readonly effects: readonly OrchestratorEffect[];
}

/** Also notes the stages' references for the next steps. */
export function gradientNorm(state: OrchestratorState, work: StepWork): GradientNorm {
  const reports = state.stages.map(({ index }) => reportsOf(state, { work, stage: index }));
  const middle = lowerMedian(reports.map((ofStage) => lowerMedian(ofStage.map(({ square }) => square)) ?? 0)) ?? 0;
  const outliers = new Set<NodeId>();
  const odd = new Set<NodeId>();
  const effects: OrchestratorEffect[] = [];
  let squareSum = 0;
  for (const [stage, ofStage] of reports.entries()) {
    assert(ofStage.length > 0, `stage ${stage} has a contributor when a step closes`);
    const scales = state.scales.stages[stage]!;
    const reference = referenceOf(scales, { reports: ofStage, middle, stages: reports.length });
    const mean = boundedMean(ofStage, reference);
    noteGradient(scales, Math.min(mean, reference));
    state.gradientSquares[stage] = mean;
    squareSum += mean;
    for (const node of oddAmong(ofStage)) odd.add(node);
    const most = present(state.stageFloats[stage], "every stage has a length") * largestFloat ** 2;
    for (const { node, sum } of ofStage) {
      if (node === null || sum === 0 || (sum >= leastFloat ** 2 && sum <= most)) continue;
      outliers.add(node);
      effects.push(outlierRecord(state, { node, sum, most }));
    }
  }
  return { squareSum, outliers, odd, effects };
}

function reportsOf(state: OrchestratorState, { work, stage }: { work: StepWork; stage: StageIndex }): Report[] {
  const reports: Report[] = [];
  for (const { node } of replicasOf(state, stage)) {
    const own = work.sealed.get(node);
    if (own !== undefined) reports.push(reportOf(node, own));
  }
  for (const gone of work.departed) {
    if (gone.stage === stage) reports.push(reportOf(null, gone));
  }
  return reports;
}

const reportOf = (node: NodeId | null, { squareSum, tasks }: { squareSum: number; tasks: number }): Report => ({
  node,
  square: squareSum / tasks ** 2,
  sum: squareSum,
  tasks,
});

function referenceOf(
  { gradientSquares }: StageScales,
  { reports, middle, stages }: { reports: readonly Report[]; middle: number; stages: number },
): number {
  const squares = reports.map(({ square }) => square);
  const now = lowerMedian(squares) ?? 0;
  const past = gradientSquares.length < stepsForPast ? null : lowerMedian(gradientSquares);
  const own = reports.length > 1 ? largestOf([now, past]) : past;
  const reference = own ?? now;
  const largest = largestOf(squares) ?? 0;
  if (stages === 1 || middle === 0) return reference === 0 ? largest : reference;
  if (mostBetweenStages * reference < middle) return Math.min(largest, middle); // a majority reports almost nothing
  return Math.min(reference, mostBetweenStages * middle);
}

/**
 * Squared norms `mostUsual` times as large or small as the others', both as they are and per task: for a mean over n
 * tasks they fall like 1 / n if the gradients have little in common, and not at all if they are alike.
 */
function* oddAmong(reports: readonly Report[]): Generator<NodeId> {
  for (const report of reports) {
    const { node, square, tasks } = report;
    if (node === null) continue;
    const others = reports.length === 2 ? reports.filter((each) => each !== report) : reports;
    const asIs = square / (lowerMedian(others.map((each) => each.square)) ?? 0);
    const perTask = square * tasks / (lowerMedian(others.map((each) => each.square * each.tasks)) ?? 0);
    if (Math.min(asIs, perTask) > mostUsual || Math.max(asIs, perTask) < 1 / mostUsual) yield node;
  }
}

function boundedMean(reports: readonly Report[], reference: number): number {
  const bound = reference * (reports.length > 1 ? mostAbovePeers : mostAboveAlone);
  const sum = reports.reduce((total, { square }) => total + (square <= bound ? square : reference), 0);
  return sum / reports.length;
}

function outlierRecord(
  state: OrchestratorState,
  { node, sum, most }: { node: NodeId; sum: number; most: number },
): OrchestratorEffect {
  const norm = (value: number) => Math.sqrt(value).toPrecision(3);
  const { code, detail } = fault(
    "badNumbers",
    `The gradient norm of step ${state.step} is ${norm(sum)}, and that of float32 values is within ${
      norm(leastFloat ** 2)
    } to ${norm(most)}; ` +
      "its work in the step is not paid",
  );
  return record({ type: "faultSeen", node, code, detail });
}
