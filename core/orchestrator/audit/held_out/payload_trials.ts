/**
 * Leave-one-in evaluations: validators evaluate the model with the parameters to which one payload alone leads from the
 * round's start, unaware whose it is. The gain decides the miner's share of pay (core/score/payload_quality.ts) until
 * its next evaluation.
 *
 * Invariant: a candidate that no validator was asked for counts as open in its round.
 */

import { present } from "../../../assert.ts";
import type { NodeId, StageIndex } from "../../../ids.ts";
import type { LoggedEnd } from "../../../ledger/entry.ts";
import { isDrawn, nextBelow, shuffle } from "../../../prng.ts";
import { noteQualities, payloadQualities, shareRecovery } from "../../../score/payload_quality.ts";
import { type OrchestratorEffect, type OrchestratorEvent, record } from "../../event.ts";
import { payloadSlice, type StageMerge } from "../../merge/merge_state.ts";
import type { OrchestratorState } from "../../state.ts";
import { deleteUnused } from "../../stored_blobs.ts";
import { addRequest } from "../audit_queue.ts";
import { agreedOn } from "../../../score/trial_loss.ts";
import { sourceName } from "../../../statements/statement.ts";
import { passOn } from "../audit_requests.ts";
import { freeValidators } from "../validator_places.ts";
import {
  closeOne,
  closeRequest,
  type Evaluation,
  heldOf,
  openOne,
  type PayloadTrial,
  type TrialRequest,
  type TriedEnd,
} from "../audit_state.ts";

const wanted = 2; // equal answers; one if there is only one validator
const mostAnswers = 3;
const fewest = 2; // payloads of a stage that can be compared
const most = 4; // of them: an evaluation costs a validator as much as a few tasks

export function drawTrials(state: OrchestratorState, stages: readonly StageMerge[]): OrchestratorEffect[] {
  const { audit, round, sources, config: { validate } } = state;
  for (const old of audit.trials.filter((trial) => trial.round < round - 1)) drop(state, old);
  if (sources.round !== round || state.validators.size === 0) return [];
  const candidates = stages.filter((merge) => comparable(merge).length >= fewest);
  const effects: OrchestratorEffect[] = [];
  for (let i = 0; i < validate.trialsPerRound && candidates.length > 0; i++) {
    const merge = present(candidates.splice(nextBelow(state.stream, candidates.length), 1)[0], "a drawn stage");
    if (isDrawn(state.stream, chanceOfTrial(state, merge))) effects.push(...begin(state, merge));
  }
  return effects;
}

/** The probability at which evaluations take their share of the round's FLOPs, counted as in evaluation_pace.ts. */
function chanceOfTrial(
  { step, roundFirstStep, validators, config: { train, validate } }: OrchestratorState,
  merge: StageMerge,
): number {
  const trained = 3 * train.microbatchesPerStep * (step - roundFirstStep);
  const ofEvaluation = Math.ceil(validate.heldOutSequences / train.sequencesPerMicrobatch);
  const cost = (1 + Math.min(most, comparable(merge).length)) * Math.min(wanted, validators.size) * ofEvaluation;
  return validate.trialShare * trained / (cost * validate.trialsPerRound);
}

/** A miner that took fewer steps gains less, and is paid less already. */
const comparable = ({ payloads, whole }: StageMerge) => [...payloads].filter(([node]) => whole.has(node));

function begin(state: OrchestratorState, merge: StageMerge): OrchestratorEffect[] {
  const { audit, round, sources } = state;
  const base: TriedEnd = { node: null, slices: null, parameters: null, isAsked: false, loss: null, answers: [] };
  const { stage, layout } = merge;
  const drawn = shuffle(state.stream, comparable(merge)).slice(0, most);
  const ends = drawn.map(([node, payload]): TriedEnd => {
    const slices = layout.map((_, index) => payloadSlice(payload, index));
    return { node, slices, parameters: null, isAsked: false, loss: null, answers: [] };
  });
  audit.trials.push({ round, stage, parameters: sources.stages.map(sourceName), ends: [base, ...ends] });
  for (const _ of [base, ...ends]) openOne(audit.open, round); // until it is asked for, then as a request
  const source = present(sources.stages[stage], "every stage has a source");
  return ends.flatMap(({ node, slices }) => {
    if (node === null || slices === null) return [];
    return [{ type: "layEnd", round, stage, node, source, slices, layout }];
  });
}

/** Null parameters: the payload's slices were lost. */
export function onEndLaid(
  state: OrchestratorState,
  { round, stage, node, parameters }: Omit<Extract<OrchestratorEvent, { type: "endLaid" }>, "type">,
): OrchestratorEffect[] {
  const { audit } = state;
  const trial = trialOf(state, { round, stage });
  const end = trial?.ends.find((each) => each.node === node && each.slices !== null);
  if (trial === null || end === undefined) return parameters === null ? [] : deleteUnused(state, [parameters.hash]);
  const slices = end.slices ?? [];
  end.slices = null;
  end.parameters = parameters;
  const freed = deleteUnused(state, slices.map(({ hash }) => hash));
  if (parameters === null) {
    closeOne(audit.open, round);
    trial.ends = trial.ends.filter((each) => each !== end);
    return [...freed, ...settle(state, trial)];
  }
  heldOf(state, round).states.push(parameters);
  return freed;
}

/** Queues a model only if a validator is free and nothing else waits, so that it delays no audit. */
export function offerTrials(state: OrchestratorState): void {
  const { audit } = state;
  if (audit.trials.length === 0 || audit.queue.size > 0 || freeValidators(audit).asked.length === 0) return;
  for (const { round, stage, ends } of audit.trials) {
    const next = ends.find((end) => isWaiting(end) && end.slices === null);
    if (next === undefined) continue;
    const { node, parameters } = next;
    next.isAsked = true;
    closeOne(audit.open, round);
    addRequest(audit, { type: "trial", round, stage, node, parameters, answers: [], tried: [] });
    return;
  }
}

export const isWaiting = ({ isAsked, loss }: TriedEnd): boolean => !isAsked && loss === null;

const trialOf = (
  { audit }: OrchestratorState,
  { round, stage }: { round: number; stage: StageIndex },
): PayloadTrial | null => audit.trials.find((trial) => trial.round === round && trial.stage === stage) ?? null;

/** After a restart: the previous process was computing these. */
export function dropUnlaid({ audit }: OrchestratorState): void {
  for (const trial of audit.trials) {
    for (const end of trial.ends) if (end.slices !== null) closeOne(audit.open, trial.round);
    trial.ends = trial.ends.filter(({ slices }) => slices === null);
  }
}

/** The round's parameters have changed, so its evaluations are not comparable. */
export function dropTrials(state: OrchestratorState, round: number): void {
  for (const trial of state.audit.trials.filter((each) => each.round === round)) drop(state, trial);
}

/** `parameters`: of the evaluated model. `loss`: Infinity if the output is not finite. */
export function onTried(
  state: OrchestratorState,
  { request, answer, parameters }: { request: TrialRequest; answer: Evaluation; parameters: readonly string[] },
): OrchestratorEffect[] {
  const { answers } = request;
  const trial = trialOf(state, request);
  if (trial !== null && !isOf(trial, { request, parameters })) { // a repaired store may have returned other parameters
    closeRequest(state.audit, request);
    drop(state, trial);
    return [];
  }
  answers.push(answer);
  const needsMore = answers.length < wanted || (agreedOn(answers) === null && answers.length < mostAnswers);
  if (needsMore && passOn(state, { request, validator: answer.validator })) return [];
  if (!needsMore) closeRequest(state.audit, request);
  return endTrialRequest(state, request);
}

function isOf(
  { stage, parameters: start }: PayloadTrial,
  { request, parameters }: { request: TrialRequest; parameters: readonly string[] },
): boolean {
  return start.every((name, index) =>
    parameters[index] === (index === stage && request.parameters !== null ? request.parameters.hash : name)
  );
}

/** Without an agreed loss the whole evaluation is void. */
export function endTrialRequest(state: OrchestratorState, request: TrialRequest): OrchestratorEffect[] {
  const trial = trialOf(state, request);
  const loss = agreedOn(request.answers);
  if (trial === null) return [];
  if (loss === null) {
    drop(state, trial);
    return [];
  }
  for (const end of trial.ends) {
    if (end.node !== request.node) continue;
    end.loss = loss;
    end.answers = request.answers;
  }
  return settle(state, trial);
}

function drop({ audit }: OrchestratorState, trial: PayloadTrial): void {
  for (const end of trial.ends) if (isWaiting(end)) closeOne(audit.open, trial.round);
  audit.trials = audit.trials.filter((each) => each !== trial);
}

function settle(state: OrchestratorState, trial: PayloadTrial): OrchestratorEffect[] {
  const { round, stage, parameters, ends } = trial;
  if (ends.some(({ loss }) => loss === null)) return [];
  drop(state, trial);
  const base = ends.find(({ node }) => node === null)?.loss ?? NaN;
  const tried = ends.flatMap(({ node, loss }) => node === null || loss === null ? [] : [{ node, loss }]);
  if (!Number.isFinite(base) || tried.length < fewest) return [];
  const losses = tried.map(({ loss }) => loss);
  const tokens = state.config.validate.heldOutSequences * state.config.model.contextLength;
  const shares = payloadQualities({ base, losses, tokens });
  const miners = tried.map(({ node }) => node);
  noteQualities(state.qualities, { miners, shares });
  const entry = {
    ...{
      type: "tried" as const,
      round,
      stage,
      tokens,
      base,
      miners,
      recovery: shareRecovery,
      keepsShares: true as const,
    },
    losses: losses.map((loss) => Number.isFinite(loss) ? loss : null),
    ...{ parameters, ends: ends.map(triedEnd) },
  };
  return [{ type: "log", entry }, ...tried.flatMap((end, i) => shortText({ ...end, round, base, share: shares[i]! }))];
}

const triedEnd = ({ node, parameters, answers }: TriedEnd): LoggedEnd => ({
  node,
  parameters: parameters?.hash ?? null,
  answers: answers.map(({ loss, ...rest }) => ({ ...rest, loss: Number.isFinite(loss) ? loss : null })),
});

function shortText(
  { node, round, base, loss, share }: { node: NodeId; round: number; base: number; loss: number; share: number | null },
): OrchestratorEffect[] {
  if (share === null || share === 1) return [];
  const gain = Number.isFinite(loss) ? `${(base - loss).toFixed(4)} nats` : "nothing: its result is not finite";
  const paid = `${(100 * share).toFixed(0)} %`;
  const text =
    `${node} is paid ${paid} of its work until its next evaluation: its payload of round ${round} gains ${gain}`;
  return [record({ type: "warning", text: `${text}, far less than its peers'` })];
}
