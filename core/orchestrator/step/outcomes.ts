/**
 * Creates a step's outcome when it closes, and keeps it for a while: the newest `outcomesKept`, and at most
 * `mostAudited` whose wires an open audit needs.
 *
 * A consumer that needs more history folds each outcome into its own state when the step closes. The outcome of a step
 * undone by a rollback is dropped, or marked while its audit is open.
 */

import { assert, present } from "../../assert.ts";
import type { BlobRef, NodeId } from "../../ids.ts";
import { taskUnits } from "../../model/task_flops.ts";
import { clipFactor, learningRateAt } from "../../train/schedule.ts";
import { type OrchestratorState, tokensPerMicrobatch } from "../state.ts";
import type { GradientNorm } from "./gradient_norm.ts";
import { keptRefs, type KeptWire, lossOf, type Pathway, type StepOutcome } from "./step_outcome.ts";
import { type Flow, pastWires, refsOfWork, type StepWork, type WorkItem } from "./step_state.ts";

export const outcomesKept = 1; // 1 MB of the snapshot with 10,000 miners and 4096 microbatches in 3 stages
export const mostAudited = 8; // rounds whose first step waits for its audit

interface Closing {
  readonly work: StepWork;
  readonly gradient: GradientNorm;
  readonly keepsWires: boolean; // an audit may need them
  readonly nowMs: number;
}

export function outcomeOf(state: OrchestratorState, { work, gradient, keepsWires, nowMs }: Closing): StepOutcome {
  const { config, step, round } = state;
  const { squareSum, outliers } = gradient;
  const miners = minersOf(state, work.flows);
  const placeOf = (node: NodeId) => present(miners.get(node), "a miner of the step").place;
  const departed = work.departed.map(({ node }) => node).filter((node) => state.unpaid.has(node)); // blame.ts
  const forfeited = new Set([...departed, ...work.leavers]);
  const isPaid = (node: NodeId) => !outliers.has(node) && !state.expelled.has(node) && !forfeited.has(node);
  const pathways = work.flows.map(({ microbatch, items, losses, isRemade }): Pathway => ({
    microbatch,
    makers: items.map((item) => placeOf(makerOf(item))),
    doers: items.map((item) => placeOf(doerOf(item))),
    losses: present(losses, "a finished flow has losses"),
    isRemade,
  }));
  return {
    round,
    step,
    loss: pathways.reduce((sum, pathway) => sum + lossOf(pathway), 0) / pathways.length,
    learningRate: learningRateAt({ config: config.train, step }),
    gradientNorm: Math.sqrt(squareSum),
    clipFactor: clipFactor({ squareSum, clipNorm: config.train.clipNorm }),
    tokens: work.flows.length * tokensPerMicrobatch(config),
    stepMs: nowMs - work.startedMs,
    miners: [...miners].map(([node, { tasks, units, dropped }]) => ({
      node,
      tasks,
      units,
      dropped,
      isPaid: isPaid(node),
    })),
    pathways,
    wires: keepsWires ? work.flows.map(wiresOf) : null,
    isUndone: false,
  };
}

const doerOf = ({ doneBy }: WorkItem): NodeId => present(doneBy, "a done item has a doer");
const makerOf = (item: WorkItem): NodeId => item.madeBy?.node ?? doerOf(item); // the last position has no output

interface Tally {
  readonly place: number;
  tasks: number;
  units: number;
  dropped: number;
}

/** In the order of their first task in the step's data; then those whose work was all redone. */
function minersOf({ forwardUnits }: OrchestratorState, flows: readonly Flow[]): Map<NodeId, Tally> {
  const miners = new Map<NodeId, Tally>();
  const enter = (node: NodeId): Tally => {
    const known = miners.get(node);
    if (known !== undefined) return known;
    const tally = { place: miners.size, tasks: 0, units: 0, dropped: 0 };
    miners.set(node, tally);
    return tally;
  };
  const items = flows.flatMap((flow) => flow.items);
  for (const item of items) {
    const tally = enter(doerOf(item));
    tally.tasks += 1;
    tally.units += taskUnits(forwardUnits, item);
  }
  for (const { past } of flows) {
    for (const [node, units] of past.flatMap(({ paid }) => [...paid])) {
      const tally = enter(node);
      tally.units += units;
      tally.dropped += units;
    }
  }
  for (const item of items) enter(makerOf(item));
  return miners;
}

function wiresOf({ items, wires, gradients }: Flow): (KeptWire | null)[] {
  return items.map(({ stage, direction, madeBy, task, doneIn }) => {
    const ref = (direction === "forward" ? wires : gradients)[stage] ?? null;
    if (ref !== null) {
      const { task, assignment } = present(madeBy, "a kept output has a maker");
      return { ref, task, assignment };
    }
    return task === null || doneIn === null ? null : { ref, task, assignment: doneIn };
  });
}

/** Returns what the shell may release. */
export function keepOutcome(
  state: OrchestratorState,
  { outcome, work }: { outcome: StepOutcome; work: StepWork },
): BlobRef[] {
  state.outcomes.push(outcome);
  dropOld(state);
  return outcome.wires === null ? refsOfWork(work) : work.flows.flatMap(pastWires);
}

/** Ends an outcome's audit; returns what the shell may release. */
export function releaseWires(state: OrchestratorState, outcome: StepOutcome): BlobRef[] {
  const refs = keptRefs(outcome);
  outcome.wires = null;
  dropOld(state);
  return refs;
}

export function loseWires(state: OrchestratorState, isLost: (ref: BlobRef) => boolean): void {
  for (const outcome of auditedOutcomes(state)) {
    outcome.wires = outcome.wires?.map((wires) =>
      wires.map((wire) =>
        wire === null || (wire.ref !== null && isLost(wire.ref)) ? null : wire
      )
    ) ?? null;
  }
}

export function auditedOutcomes({ outcomes }: OrchestratorState): StepOutcome[] {
  return outcomes.filter(({ wires }) => wires !== null);
}

export function undoOutcomes(state: OrchestratorState, toStep: number): void {
  for (const outcome of state.outcomes) if (outcome.step >= toStep) outcome.isUndone = true;
  dropOld(state);
}

function dropOld(state: OrchestratorState): void {
  const { length } = state.outcomes;
  state.outcomes = state.outcomes.filter((outcome, i) => mayStay(outcome, { isNew: i >= length - outcomesKept }));
}

const mayStay = ({ wires, isUndone }: StepOutcome, { isNew }: { isNew: boolean }): boolean =>
  wires !== null || (isNew && !isUndone);

export function assertOutcomes(state: OrchestratorState): void {
  const { outcomes, audit } = state;
  let before = -1;
  for (const [i, outcome] of outcomes.entries()) {
    const { step, round, wires, isUndone } = outcome;
    assert(
      mayStay(outcome, { isNew: i >= outcomes.length - outcomesKept }),
      `the outcome of step ${step} is dropped`,
    );
    assert(
      wires === null || audit.open.has(round),
      `the wires of step ${step} are released: round ${round} is audited`,
    );
    if (isUndone) continue;
    assert(
      step > before && step < state.step,
      `the outcome of step ${step} is a closed step's, and in order`,
    );
    before = step;
  }
  assert(auditedOutcomes(state).length <= mostAudited, "wires are held for few audits only");
}
