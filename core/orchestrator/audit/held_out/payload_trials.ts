/**
 * Leave-one-in evaluations: the effect of each payload of a drawn stage on the held-out loss by itself, which decides
 * its miner's share of pay.
 *
 * When a round has been merged, stages are sampled from its secret key, as often as fits their share of all computing,
 * and a few payloads of each. For each, the orchestrator computes the candidate parameters to which it alone leads from
 * the round's start; validators evaluate the model with these in the stage, and once without. They are not told whose
 * they are. Two must agree, or the only one there is; otherwise the evaluation is void. The share
 * (core/score/payload_quality.ts) holds until the miner's payloads are evaluated again, and recovers meanwhile.
 *
 * Owns the evaluations and the shares. Invariant: a candidate that no validator was asked for counts as open in its
 * round, later its request does (audit_state.ts). Out of scope: which validator is asked.
 */

import { present } from "../../../assert.ts";
import type { NodeId, StageIndex } from "../../../ids.ts";
import type { LoggedEnd } from "../../../ledger/entry.ts";
import { nextBelow, shuffle } from "../../../prng.ts";
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

const wanted = 2; // equal answers
const mostAnswers = 3;
const fineness = 2 ** 24; // of the random number
const fewest = 2; // payloads of a stage that can be compared
const most = 4; // of them: an evaluation takes a validator as long as a few tasks take a miner

/** Begins the evaluations of the round that has just been merged, with the parameters that it began with. */
export function drawTrials(state: OrchestratorState, stages: readonly StageMerge[]): OrchestratorEffect[] {
  const { audit, round, sources, config: { validate } } = state;
  for (const old of audit.trials.filter((trial) => trial.round < round - 1)) drop(state, old);
  if (sources.round !== round || state.validators.size === 0) return [];
  const candidates = stages.filter((merge) => comparable(merge).length >= fewest);
  const effects: OrchestratorEffect[] = [];
  for (let i = 0; i < validate.trialsPerRound && candidates.length > 0; i++) {
    const merge = present(candidates.splice(nextBelow(state.stream, candidates.length), 1)[0], "a drawn stage");
    const isDrawn = nextBelow(state.stream, fineness) < fineness * chanceOfTrial(state, merge);
    if (isDrawn) effects.push(...begin(state, merge));
  }
  return effects;
}

/**
 * The probability at which evaluations take their share of the round's FLOPs, on average: short rounds have few. Both
 * sides are counted in forwards of the whole model over a microbatch, of which a microbatch of training is worth three.
 */
function chanceOfTrial(
  { step, roundFirstStep, validators, config: { train, validate } }: OrchestratorState,
  merge: StageMerge,
): number {
  const trained = 3 * train.microbatchesPerStep * (step - roundFirstStep);
  const ofEvaluation = Math.ceil(validate.heldOutSequences / train.sequencesPerMicrobatch);
  const cost = (1 + Math.min(most, comparable(merge).length)) * Math.min(wanted, validators.size) * ofEvaluation;
  return validate.trialShare * trained / (cost * validate.trialsPerRound);
}

/** Payloads of whole rounds: a miner that took fewer steps gains less, and is paid less already. */
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

/** The candidate parameters of a payload are stored, or its slices were lost. */
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

/**
 * Queues the next model of an evaluation, if a validator is free and nothing else waits, so that it delays no audit.
 */
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

/** Whether no validator has been asked for it. */
export const isWaiting = ({ isAsked, loss }: TriedEnd): boolean => !isAsked && loss === null;

const trialOf = (
  { audit }: OrchestratorState,
  { round, stage }: { round: number; stage: StageIndex },
): PayloadTrial | null => audit.trials.find((trial) => trial.round === round && trial.stage === stage) ?? null;

/** After a restart, candidate parameters that the previous process was computing are no longer awaited. */
export function dropUnlaid({ audit }: OrchestratorState): void {
  for (const trial of audit.trials) {
    for (const end of trial.ends) if (end.slices !== null) closeOne(audit.open, trial.round);
    trial.ends = trial.ends.filter(({ slices }) => slices === null);
  }
}

/** Parameters of this round have changed, so its evaluations are no longer comparable. */
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

/** No further validator will be asked. */
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

/** Answers to its open requests no longer count. */
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
