/**
 * When every miner that trained in the round is gone (a power cut), the run rolls back to its first step, so that lost
 * work does not count as trained. Attempt numbers continue, so that a late result of the abandoned step is not mistaken
 * for a new one. The loss of one stage's miners: losses/lost_progress.ts.
 */

import { dropAwaited } from "../audit/shown_states.ts";
import { type OrchestratorEffect, record, releaseEffect, send } from "../event.ts";
import { returnLeases } from "../step/leases.ts";
import { type OrchestratorState, tokensPerMicrobatch } from "../state.ts";
import { undoOutcomes } from "../step/outcomes.ts";
import { forgetTimes } from "./round_length.ts";
import { refsOfWork } from "../step/step_state.ts";

export function rewindWhenLost(state: OrchestratorState): OrchestratorEffect[] {
  const { counters, config, step, roundFirstStep: toStep } = state;
  const isHeld = state.rosters.some(({ progress }) => progress > 0);
  if (state.phase !== "training" || step === toStep || isHeld) return [];
  const abandoned = abandonStep(state);
  const microbatches = (step - toStep) * config.train.microbatchesPerStep;
  const tokens = microbatches * tokensPerMicrobatch(config);
  counters.microbatchesIssued -= microbatches;
  counters.microbatchesCredited -= microbatches;
  counters.tokens -= tokens;
  counters.rewinds += 1;
  state.step = toStep;
  state.lostProgress.clear();
  state.roundRates = 0;
  forgetTimes(state);
  forgetWork(state, toStep);
  return [...abandoned, record({ type: "rewound", step, toStep, tokens })];
}

/** If only disconnected members hold progress, newcomers would begin without it, and the lost work would count. */
export function waitsForProgress({ rosters }: OrchestratorState): boolean {
  return rosters.some(({ members, progress }) =>
    progress > 0 && !members.some(({ graceUntilMs, roundTasks }) => graceUntilMs === null && roundTasks > 0)
  );
}

/** Work since `toStep` is neither counted nor paid, so nobody opens its parameters. */
export function forgetWork(state: OrchestratorState, toStep: number): void {
  state.roundUnits.clear();
  undoOutcomes(state, toStep);
  dropAwaited(state, ({ round }) => round === state.round);
}

/** Newcomers that have begun the step drop their work. */
export function abandonStep(state: OrchestratorState): OrchestratorEffect[] {
  const { work } = state;
  if (work === null) return [];
  const effects: OrchestratorEffect[] = [];
  for (const { members } of state.rosters) {
    for (const member of members) {
      if (member.leases.size > 0) effects.push(send(member.node, { type: "cancelTasks", tasks: [...member.leases] }));
      returnLeases(state, member); // may queue its tasks for others
      member.stepTasks = [];
    }
  }
  for (const roster of state.rosters) {
    for (const { own } of roster.members) {
      own.gradients.length = 0;
      own.forwards.length = 0;
    }
    roster.backlog.clear();
    roster.due.clear();
  }
  for (const node of work.touched) {
    const nothing = { step: state.step, tasks: 0, learningRate: 0, clipFactor: 0, shows: false };
    if (state.members.has(node)) effects.push(send(node, { type: "applyStep", ...nothing }));
  }
  const refs = refsOfWork(work);
  state.counters.microbatchesIssued -= work.flows.length;
  state.work = null;
  return [...effects, ...releaseEffect(refs)];
}
