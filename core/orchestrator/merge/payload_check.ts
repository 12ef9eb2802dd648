/**
 * What a committed payload may be: there, finite, no longer than the round's steps can make it, and near its peers in length.
 *
 * The hub reads every payload when it is committed, so nothing that a reducer could trip over reaches one, and a reducer that
 * complains is wrong. Lengths are norms as a share of the sum of the round's learning rates: an optimizer moves a value by at
 * most `longestStep` of them a step, and a codec with a residual may hold back several rounds' worth. A payload far longer than its peers and the stage's last rounds is left out; a long
 * one is scaled down to `mostWeighed` times their median. Directions are not judged here.
 */

import { present } from "../../assert.ts";
import { fault } from "../../fault.ts";
import type { NodeId, StageIndex } from "../../ids.ts";
import { payloadCodecOf } from "../../merge/payload/payload_codecs.ts";
import type { PayloadStats } from "../../merge/payload_stats.ts";
import { blame, noteFulfilled, noteWithheld, suspect } from "../members/blame.ts";
import { type OrchestratorEffect, record, send } from "../event.ts";
import { payloadSlice, type StageMerge } from "./merge_state.ts";
import { dropWeight, owe, withdrawPayload } from "./reducers.ts";
import { optimizerOf, optimizers } from "../../train/optimizers.ts";
import { largestOf, lowerMedian, notePayload, type StageScales } from "../step/scale_book.ts";
import type { OrchestratorState } from "../state.ts";

const leastLimits = { length: 4, value: 32, honestLength: 1.2 }; // weight decay and rounding come on top of AdamW's bound
const mostAbovePeers = 4; // times the reference, then it is left out
const mostWeighed = 2; // times the reference, then it is scaled down
const roundsForPast = 2;
const mostAsked = 4; // times for one payload, then it is left out: a store that keeps nothing, or a contributor that stores nothing

export function checkPayload(
  state: OrchestratorState,
  { merge, node }: { merge: StageMerge; node: NodeId },
): OrchestratorEffect {
  const payload = present(merge.payloads.get(node), "a committed payload");
  const slices = payload.hashes.map((_, index) => payloadSlice(payload, index));
  return { type: "checkPayload", round: state.round, stage: merge.stage, node, slices, layout: merge.layout };
}

export function askForPayload(
  state: OrchestratorState,
  { merge, node }: { merge: StageMerge; node: NodeId },
): OrchestratorEffect {
  const contributes = merge.weights.has(node);
  return send(node, { type: "startMerge", round: state.round, slices: merge.layout, contributes });
}

export function onPayloadChecked(
  state: OrchestratorState,
  { round, stage, node, stats }: { round: number; stage: StageIndex; node: NodeId; stats: PayloadStats | null },
): OrchestratorEffect[] {
  const merge = round === state.round ? state.merge?.stages[stage] : undefined;
  if (merge === undefined || !merge.checking.delete(node)) return [];
  if (stats === null) return payloadMissing(state, { merge, node });
  const limit = Math.max(Number.MIN_VALUE, state.roundRates);
  const longest = limit * Math.sqrt(present(state.stageFloats[stage], "a length a stage"));
  const length = Math.sqrt(stats.squareSum) / longest;
  const most = limitsOf(state);
  if (!stats.isFinite || length > most.length || stats.largest > most.value * limit) {
    withdrawPayload(merge, node);
    const found = stats.isFinite
      ? `norm ${Math.sqrt(stats.squareSum).toPrecision(3)}`
      : "bytes that are no finite values";
    const detail =
      `Cannot merge a payload of round ${round} as ${longest.toPrecision(3)} is the longest way the round's ` +
      `steps can go: it has ${found}`;
    state.roundUnits.delete(node); // what it computed in the round is not in the merge
    return blame(state, { node, fault: fault("badNumbers", detail) });
  }
  merge.lengths.set(node, length);
  noteFulfilled(state, { node, duty: "committing" });
  return [];
}

/** Of a payload's root mean square and of its largest value, in sums of learning rates; what honest ones stay below. */
function limitsOf({ config }: OrchestratorState): typeof leastLimits {
  const longest = optimizers[optimizerOf(config)].longestStep(config.train);
  const { mostRounds } = payloadCodecOf(config);
  return {
    length: mostRounds * Math.max(leastLimits.length, 1.1 * longest),
    value: mostRounds * Math.max(leastLimits.value, 1.1 * longest),
    honestLength: mostRounds * Math.max(leastLimits.honestLength, longest),
  };
}

/** Committed, but not in the store: the store may have lost it, so it is asked for again. */
function payloadMissing(
  state: OrchestratorState,
  { merge, node }: { merge: StageMerge; node: NodeId },
): OrchestratorEffect[] {
  const weight = merge.weights.get(node) ?? 0;
  const asked = (merge.shown.get(node) ?? 0) + 1;
  merge.shown.set(node, asked);
  merge.payloads.delete(node);
  merge.committedWeight -= weight;
  if (asked < mostAsked && merge.participants.has(node) && merge.phase === "committing") {
    owe(merge, node);
    return [askForPayload(state, { merge, node })];
  }
  dropWeight(merge, node);
  noteWithheld(state, { node, duty: "committing" });
  return [record({ type: "mergeLate", round: state.round, stage: merge.stage, node, phase: merge.phase })];
}

/** Decides what each payload counts, before they are reduced. */
export function weighPayloads(state: OrchestratorState, merge: StageMerge): OrchestratorEffect[] {
  const scales = present(state.scales.stages[merge.stage], "scales a stage");
  const { honestLength } = limitsOf(state);
  const reference = referenceOf(scales, { lengths: [...merge.lengths.values()], honestLength });
  merge.scales.clear();
  const effects: OrchestratorEffect[] = [];
  for (const [node, length] of [...merge.lengths]) {
    if (length > mostAbovePeers * reference) {
      withdrawPayload(merge, node);
      effects.push(...leaveOut(state, { node, ratio: length / reference, length }));
    } else if (length > mostWeighed * reference) {
      merge.scales.set(node, mostWeighed * reference / length);
      suspect(state, node);
    }
  }
  return effects;
}

/** Once a round, of what has been merged. */
export function noteLengths(state: OrchestratorState, merge: StageMerge): void {
  const middle = lowerMedian([...merge.lengths.values()]);
  if (middle !== null) notePayload(present(state.scales.stages[merge.stage], "scales a stage"), middle);
}

/** Of two payloads neither is a majority: a short one, or a past made of short ones, must not push out an honest long one. */
function referenceOf(
  { payloadNorms }: StageScales,
  { lengths, honestLength }: { lengths: readonly number[]; honestLength: number },
): number {
  const past = payloadNorms.length < roundsForPast ? null : lowerMedian(payloadNorms);
  const longest = Math.min(largestOf(lengths) ?? 0, honestLength);
  if (lengths.length < 2) return largestOf([longest, past]) ?? 0;
  const least = lengths.length === 2 ? longest / mostAbovePeers : null;
  return largestOf([lowerMedian(lengths), past, least]) ?? 0;
}

/**
 * Only what no honest replica makes is a proven fault. A majority that makes hardly any way, and so a past of short payloads,
 * can make an honest one look long: it is left out and not paid, no more.
 */
function leaveOut(
  state: OrchestratorState,
  { node, ratio, length }: { node: NodeId; ratio: number; length: number },
): OrchestratorEffect[] {
  const { code, detail } = fault(
    "badNumbers",
    `Cannot merge a payload of round ${state.round} as its norm must be at most ${mostAbovePeers} times its peers': ` +
      `it is ${ratio.toPrecision(3)} times`,
  );
  state.roundUnits.delete(node);
  if (length > limitsOf(state).honestLength) return blame(state, { node, fault: { code, detail } });
  suspect(state, node);
  return [record({ type: "faultSeen", node, code, detail })];
}
