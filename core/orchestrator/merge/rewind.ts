/**
 * When everybody who trained in this round is gone (a power cut, a swarm that was killed), its progress is in nobody's
 * parameters: the run goes back to the round's first step, so that nothing counts as trained that was lost.
 *
 * With one of them left the run goes on: stages that lost all of theirs begin the round anew, the others keep what they have.
 * Attempts are numbered on, so that a late result of the abandoned step is not taken for one of the new.
 */

import { type OrchestratorEffect, record, send } from "../event.ts";
import { returnLeases } from "../step/leases.ts";
import { type OrchestratorState, tokensPerMicrobatch } from "../state.ts";
import { undoOutcomes } from "../step/outcomes.ts";
import { refsOfWork } from "../step/step_state.ts";
import { releaseEffect } from "../step/steps.ts";

export function rewindWhenLost(state: OrchestratorState): OrchestratorEffect[] {
  const { counters, config, step, roundFirstStep: toStep } = state;
  if (state.phase !== "training" || step === toStep || state.progress > 0) return [];
  const abandoned = abandonStep(state);
  const microbatches = (step - toStep) * config.train.microbatchesPerStep;
  const tokens = microbatches * tokensPerMicrobatch(config);
  counters.microbatchesIssued -= microbatches;
  counters.microbatchesCredited -= microbatches;
  counters.tokens -= tokens;
  counters.rewinds += 1;
  state.step = toStep;
  state.roundRates = 0;
  state.roundUnits.clear();
  undoOutcomes(state, toStep);
  return [...abandoned, record({ type: "rewound", step, toStep, tokens })];
}

/** The open step is nobody's any more: newcomers that have begun with it drop what they have. */
export function abandonStep(state: OrchestratorState): OrchestratorEffect[] {
  const { work } = state;
  if (work === null) return [];
  const effects: OrchestratorEffect[] = [];
  for (const { members } of state.rosters) {
    for (const member of members) {
      if (member.leases.size > 0) effects.push(send(member.node, { type: "cancelTasks", tasks: [...member.leases] }));
      returnLeases(state, member); // which may queue a task of its own for any other replica
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
    const nothing = { step: state.step, tasks: 0, learningRate: 0, clipFactor: 0 };
    if (state.members.has(node)) effects.push(send(node, { type: "applyStep", ...nothing }));
  }
  const refs = refsOfWork(work);
  state.counters.microbatchesIssued -= work.flows.length;
  state.work = null;
  return [...effects, ...releaseEffect(refs)];
}
