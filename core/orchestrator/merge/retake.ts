/**
 * Rollbacks of merges that made the model much worse, to the last round that validators found good.
 *
 * Two validators must have found the jump. A pending evaluation of a newer round is awaited, because a shorter rollback
 * costs less. Miners blamed or scaled down since the good round are left out of the repeated one. Each good round is
 * used once: if the loss jumps again without the suspects, the training itself is the cause.
 *
 * An open round restarts if a miner's wires in it are proven made up (audit/referee.ts): everything computed with them
 * is tainted. Round numbers keep rising, so that nothing from an abandoned round is mistaken for the new one.
 */

import { present } from "../../assert.ts";
import { stageIndex } from "../../ids.ts";
import type { RunRecord } from "../../protocol/record.ts";
import { isLikeGood } from "../audit/held_out/evaluated_rounds.ts";
import { awaitedEvaluations } from "../audit/held_out/evaluations.ts";
import { isSuspect, sendToRest } from "../members/blame.ts";
import { type OrchestratorEffect, record } from "../event.ts";
import { reissueWorkOf } from "../step/leases.ts";
import type { StageUpload, UploadWork } from "./merge_state.ts";
import { mergeBlobs, openRound } from "./rounds.ts";
import { abandonStep, forgetWork } from "./rewind.ts";
import { abandonPaths } from "../members/catching_up.ts";
import { benchMember } from "../members/roster_changes.ts";
import { type GoodRound, type OrchestratorState, tokensPerMicrobatch } from "../state.ts";
import { deleteUnused, uploadBlobs } from "../stored_blobs.ts";

export function retakeRound(state: OrchestratorState): OrchestratorEffect[] {
  const { retakeBecause, good } = state;
  if (retakeBecause !== null && mayGetNewer(state)) return [];
  state.retakeBecause = null;
  if (retakeBecause === null || good === null || state.phase === "closing" || state.phase === "finished") return [];
  const suspects = [...state.members.keys()].filter((node) => isSuspect(state, { node, since: good.sources.round }));
  const effects = dropOpenRound(state);
  for (const node of suspects) sendToRest(state, node);
  const tokens = goBack(state, good);
  state.good = { ...good, sources: state.sources, isRetaken: true };
  const text = `${retakeBecause}; rolling back to step ${good.step}, with ${
    suspects.length === 0 ? "no miner suspected" : `these suspects left out: ${suspects.join(", ")}`
  }`;
  return [
    ...effects,
    record({ type: "warning", text }),
    retaken(state, { because: "lossJumped", tokens, suspects }),
  ];
}

/** There is no time if the run would end first: after its last step, or because nobody can compute. */
function mayGetNewer(state: OrchestratorState): boolean {
  const { config, phase, reloads, round, step } = state;
  if (phase === "closing" || phase === "finished" || step >= config.train.steps || reloads.size > 0) return false;
  return awaitedEvaluations(state).some((each) => each < round && isLikeGood(state, each));
}

// For each reason between two merges.
export const mostRestarts = 3;

/** False: there have been too many. */
export function mayRestart({ restarts }: OrchestratorState, because: keyof OrchestratorState["restarts"]): boolean {
  if (restarts[because] >= mostRestarts) return false;
  restarts[because] += 1;
  return true;
}

/** The rest of the run is unharmed, so nobody is a suspect. */
export function restartRound(state: OrchestratorState): OrchestratorEffect[] {
  const { restartBecause, sources } = state;
  state.restartBecause = null;
  const isOpen = state.phase === "training" || state.phase === "merging";
  if (restartBecause === null || !isOpen || sources.round !== state.round) return [];
  const because = "madeUpWires";
  if (!mayRestart(state, because)) {
    const text =
      `${restartBecause}; the round has restarted ${mostRestarts} times for such wires and continues with these`;
    return [record({ type: "warning", text })];
  }
  const { effects, tokens, step } = beginAnew(state);
  return [
    ...effects,
    record({ type: "warning", text: `${restartBecause}; the round restarts without it, at step ${step}` }),
    retaken(state, { because, tokens }),
  ];
}

/**
 * To the newest stored parameters: the open round's start, or the previous round's while the merged ones are not
 * stored. `tokens`: how many no longer count.
 */
export function beginAnew(state: OrchestratorState): { effects: OrchestratorEffect[]; tokens: number; step: number } {
  const { sources, good } = state;
  const step = present(state.firstSteps.get(sources.round), "rounds are forgotten once a later one is stored");
  const effects = dropOpenRound(state);
  const tokens = goBack(state, { sources, step });
  if (good?.sources.round === sources.round) state.good = { ...good, sources: state.sources };
  return { effects, tokens, step };
}

function dropOpenRound(state: OrchestratorState): OrchestratorEffect[] {
  const effects = abandonStep(state);
  const { merge, upload } = state;
  state.merge = null;
  state.upload = null;
  // Otherwise they would count against the miners that stored them.
  if (merge !== null) effects.push(...deleteUnused(state, mergeBlobs(merge.stages)));
  effects.push(...deleteUnused(state, uploadBlobs(upload)));
  for (const roster of state.rosters) {
    for (const member of [...roster.members]) {
      reissueWorkOf(state, member);
      benchMember(state, member);
    }
  }
  return effects;
}

export function goBackToEarlier(
  state: OrchestratorState,
  { earlier, why }: { earlier: Start; why: string },
): OrchestratorEffect[] {
  const from = state.step;
  const effects = dropOpenRound(state);
  const tokens = goBack(state, earlier);
  const { good, sources } = state;
  if (good !== null) state.good = good.step > earlier.step ? null : { ...good, sources, step: earlier.step };
  const lost = `${from - earlier.step} step${from - earlier.step === 1 ? "" : "s"}`;
  return [
    ...effects,
    record({
      type: "warning",
      text: `${why}; rolling back to the checkpoint of step ${earlier.step}: ${lost} are lost`,
    }),
    retaken(state, { because: "parametersLost", tokens }),
  ];
}

type Retaken = Extract<RunRecord, { type: "mergeRetaken" }>;

/** The record of a rollback that has just been done. */
export const retaken = (
  { round, step }: OrchestratorState,
  { because, tokens, suspects = [], ...rest }:
    & Pick<Retaken, "because" | "tokens" | "stages">
    & Partial<Pick<Retaken, "suspects">>,
): OrchestratorEffect => record({ type: "mergeRetaken", because, round, step, tokens, suspects, ...rest });

type Start = Pick<GoodRound, "sources" | "step">;

/** Null: the run's initial parameters need no checkpoint. */
export function checkpointOf({ round }: OrchestratorState, { sources, step }: Start): UploadWork | null {
  const stages: StageUpload[] = [];
  for (const [index, source] of sources.stages.entries()) {
    if (source.type === "initial") return null;
    const { parameters, momentum } = source;
    const merged = { parameters, momentum };
    const stored = {
      holders: [],
      isHubUnable: false,
      isBelieved: false,
      asked: null,
      deadlineMs: Infinity,
      stored: true,
      lost: 0,
      lostBecause: null,
    };
    stages.push({ stage: stageIndex(index), merged, slices: [], ...stored });
  }
  return { round, step, stages, payloads: [], writing: false };
}

/** Returns how many tokens no longer count. */
function goBack(state: OrchestratorState, good: Start): number {
  const { counters, config } = state;
  const microbatches = (state.step - good.step) * config.train.microbatchesPerStep;
  const tokens = microbatches * tokensPerMicrobatch(config);
  counters.microbatchesIssued -= microbatches;
  counters.microbatchesCredited -= microbatches;
  counters.tokens -= tokens;
  counters.rewinds += 1;
  state.retired.push(state.sources);
  state.step = good.step;
  forgetWork(state, good.step);
  openRound(state, { mergedMs: null });
  state.sources = { round: state.round, stages: good.sources.stages };
  abandonPaths(state);
  state.upload = checkpointOf(state, good);
  state.unpaid.clear();
  state.restoring.clear();
  state.closeUntilMs = null; // a run that was closing has steps to repeat
  state.phase = "training";
  return tokens;
}
