/**
 * Checks that a committed payload exists, is finite and no longer than the round's steps can make it, and sets its
 * weight among its peers.
 *
 * Lengths are norms as a share of the sum of the round's learning rates: an optimizer step goes at most `longestStep`
 * of them, and a residual may hold back several rounds' worth. A payload beyond that is left out, unpaid and blamed.
 * One longer than its peers and the stage's last rounds is only scaled down, because the peers may be the dishonest
 * ones. So a length that is usual in other stages raises no suspicion, nor does any that neither a majority nor another
 * stage can judge; and peers that make almost no progress are not a reference. The stage's last rounds and the other
 * stages bound the reference, so that a dishonest majority cannot raise it.
 */

import { present } from "../../../assert.ts";
import { fault } from "../../../fault.ts";
import type { NodeId } from "../../../ids.ts";
import { parameterTable } from "../../../model/spec.ts";
import { densities } from "../../../config/payload_codec_names.ts";
import { payloadCodecOf } from "../../../update/payload/payload_codecs.ts";
import { peakSizes } from "../../../update/matrix_peaks.ts";
import { reachOf } from "../../../update/payload/residual_reach.ts";
import { notePayloadWay } from "../../audit/shown_ends.ts";
import { blame, noteWithheld, suspect } from "../../members/blame.ts";
import { type OrchestratorEffect, type OrchestratorEvent, record, send } from "../../event.ts";
import { refuseCommitment, signedCommitment } from "./commitments.ts";
import { payloadSlice, type StageMerge } from "../merge_state.ts";
import { sketchKeyOf, trailOf } from "./payload_trails.ts";
import { countPayloads, type WeighedPayload } from "./payload_weights.ts";
import { owe } from "../owing.ts";
import { dropWeight, withdrawPayload } from "../participants.ts";
import { type LongestWay, longestWay } from "../../../train/longest_way.ts";
import { learningRateAt } from "../../../train/schedule.ts";
import { lowerMedian } from "../../../lower_median.ts";
import { largestOf, notePayload } from "../../step/scale_book.ts";
import type { OrchestratorState } from "../../state.ts";

const farAbovePeers = 4; // times the reference; a longer payload is cut to the reference
const mostWeighed = 2; // times the reference; a longer payload is scaled down
const roundsForPast = 2;
const leastBesideOthers = 1 / 16; // of the other stages' median; shorter peers are not a reference
const usualElsewhere = 3 / 4; // of that median: honest stages differ by a factor of 1.5 at most (tests/lab/LOG.md)
const leastAlone = 1 / 256; // of the longest honest length, without another stage
const mostAsked = 4; // then the store or the contributor counts as broken

type PayloadChecked = Extract<OrchestratorEvent, { type: "payloadChecked" }>;

export function checkPayload(
  state: OrchestratorState,
  { merge, node }: { merge: StageMerge; node: NodeId },
): OrchestratorEffect {
  const payload = present(merge.payloads.get(node), "a committed payload");
  const slices = payload.hashes.map((_, index) => payloadSlice(payload, index));
  const { round } = state;
  const sketchKey = sketchKeyOf(state);
  const commitment = present(merge.commitments.get(node), "a payload comes with a commitment");
  const signed = signedCommitment({ round, node, commitment });
  return { type: "checkPayload", round, stage: merge.stage, node, slices, layout: merge.layout, sketchKey, signed };
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
  { round, stage, node, stats, shape, isSigned }: Omit<PayloadChecked, "type">,
): OrchestratorEffect[] {
  const merge = round === state.round ? state.merge?.stages[stage] : undefined;
  if (merge === undefined || !merge.checking.delete(node)) return [];
  if (stats === null) return payloadMissing(state, { merge, node });
  const refused = refuseCommitment(state, { merge, node, isSigned });
  if (refused !== null) return refused;
  const limit = reachOf(state);
  const longest = limit * Math.sqrt(present(state.stageFloats[stage], "every stage has a length"));
  const length = Math.sqrt(stats.squareSum) / longest;
  const most = limitsOf(state);
  if (!stats.isFinite || length > most.length || stats.largest > most.value * limit) {
    withdrawPayload(merge, node);
    const found = stats.isFinite ? `norm ${Math.sqrt(stats.squareSum).toPrecision(3)}` : "non-finite values";
    const detail = `A payload of round ${round} has ${found}; the round's steps can change the parameters ` +
      `by at most ${longest.toPrecision(3)}`;
    state.roundUnits.delete(node);
    return blame(state, { node, fault: fault("badNumbers", detail) });
  }
  if (stats.squareSum === 0 && state.roundRates > 0 && merge.weights.has(node)) {
    return refuseZero(state, { merge, node });
  }
  merge.lengths.set(node, length);
  if (shape === null) return [];
  merge.shapes.set(node, shape);
  const effects = notePayloadWay(state, { merge, node, sketch: shape.sketch });
  if (effects.length > 0) withdrawPayload(merge, node);
  return effects;
}

/** Not a fault if the miner may have taken only the round's last step, whose rate was zero. */
function refuseZero(
  state: OrchestratorState,
  { merge, node }: { merge: StageMerge; node: NodeId },
): OrchestratorEffect[] {
  const { config: { train }, round, step } = state;
  const mayBeLastStep = learningRateAt({ config: train, step: step - 1 }) === 0 &&
    (merge.weights.get(node) ?? 0) <= train.microbatchesPerStep;
  withdrawPayload(merge, node);
  state.roundUnits.delete(node);
  if (mayBeLastStep) return [];
  const detail = `A payload of round ${round} is zero, although the round's steps changed the parameters`;
  return blame(state, { node, fault: fault("badNumbers", detail) });
}

/** In sums of learning rates; honest payloads stay below. */
function limitsOf({ config }: OrchestratorState): LongestWay {
  const { length, value, honestLength } = longestWay(config);
  const { mostRounds } = payloadCodecOf(config);
  return { length: mostRounds * length, value: mostRounds * value, honestLength: mostRounds * honestLength };
}

/** The store may have lost it, so it is requested again. */
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

function lengthScale(length: number, usual: number): number {
  if (length <= mostWeighed * usual) return 1;
  return (length > farAbovePeers * usual ? 1 : mostWeighed) * usual / length;
}

export function weighPayloads(state: OrchestratorState, merge: StageMerge): void {
  const { reference, isOwn, odd } = referenceOf(state, merge);
  merge.scales.clear();
  for (const [node, length] of merge.lengths) {
    const scale = lengthScale(length, reference);
    if (scale === 1) continue;
    merge.scales.set(node, scale);
    if (length > odd) suspect(state, node);
  }
  if (!isOwn) return; // another stage's payloads are not a valid reference
  const { tensors } = parameterTable(present(state.stages[merge.stage], "every stage has a spec"));
  const measures = {
    ...{ sizes: tensors.map(({ size }) => size), peakSizes: peakSizes(tensors) },
    ...{ reference, density: densityOf(state) },
  };
  for (const [node, scale] of countPayloads(weighedPayloads(state, merge), measures)) {
    if (scale < 1) merge.scales.set(node, Math.min(scale, merge.scales.get(node) ?? 1));
  }
}

function densityOf({ config }: OrchestratorState): number {
  return payloadCodecOf(config).keepsResidual ? config.outer.density ?? densities.default : 1;
}

function weighedPayloads(state: OrchestratorState, merge: StageMerge): WeighedPayload[] {
  return [...merge.lengths].map(([node, length]) => ({
    ...{ node, length },
    weight: merge.weights.get(node) ?? 0,
    shape: merge.shapes.get(node) ?? null,
    trail: trailOf(state, { merge, node }),
  }));
}

export function noteLengths(state: OrchestratorState, merge: StageMerge): void {
  const middle = lowerMedian([...merge.lengths.values()]);
  if (middle !== null) {
    notePayload(present(state.scales.stages[merge.stage], "every stage has scales"), { middle, reach: reachOf(state) });
  }
}

interface Reference {
  readonly reference: number;
  readonly isOwn: boolean;
  readonly odd: number; // a longer payload is an outlier, whoever in the stage is dishonest
}

function referenceOf(state: OrchestratorState, merge: StageMerge): Reference {
  const { honestLength } = limitsOf(state);
  const others = middleOfOthers(state, merge);
  const own = ownReference(state, { merge, most: mostUsual(state, { merge, honestLength }) });
  const isOwn = own >= (others === null ? leastAlone * honestLength : leastBesideOthers * others);
  if (isOwn) {
    const isMajority = merge.lengths.size > 2;
    const elsewhere = Math.min(honestLength, usualElsewhere * (others ?? 0));
    // The accused gets the benefit of the doubt.
    const usual = Math.max(ownReference(state, { merge, most: honestLength }), elsewhere);
    const isCertain = isMajority || others !== null;
    return {
      reference: isMajority ? own : Math.max(own, elsewhere),
      isOwn,
      odd: isCertain ? mostWeighed * usual : Infinity,
    };
  }
  const most = largestOf([...merge.lengths.values()]) ?? 0;
  const reference = Math.min(most, honestLength, others ?? honestLength / farAbovePeers);
  return { reference, isOwn, odd: Infinity };
}

/**
 * The most that its payloads may raise the reference to. `honestLength` without last rounds or without other stages:
 * the past may be one of short payloads.
 */
function mostUsual(
  state: OrchestratorState,
  { merge, honestLength }: { merge: StageMerge; honestLength: number },
): number {
  const past = pastOf(state, merge);
  const elsewhere = largestOf(middlesOfOthers(state, merge));
  if (past === null || elsewhere === null) return honestLength;
  const known = Math.max(elsewhere, past);
  return known === 0 ? honestLength : Math.min(honestLength, mostWeighed * known * shrunkReach(state, merge));
}

/**
 * A payload with a residual stays as long when rates fall or a round is short, and is then a larger share of the bound.
 * At least 1.
 */
function shrunkReach(state: OrchestratorState, { stage }: StageMerge): number {
  const { payloadReach } = present(state.scales.stages[stage], "every stage has scales");
  return Math.max(1, payloadReach / reachOf(state));
}

/** Of two payloads neither is a majority: short ones must not reduce an honest one's weight. */
function ownReference(state: OrchestratorState, { merge, most }: { merge: StageMerge; most: number }): number {
  const lengths = [...merge.lengths.values()];
  const past = pastOf(state, merge);
  const longest = Math.min(largestOf(lengths) ?? 0, most);
  if (lengths.length < 2) return largestOf([longest, past]) ?? 0;
  const least = lengths.length === 2 ? longest / farAbovePeers : null;
  return largestOf([Math.min(lowerMedian(lengths) ?? 0, most), past, least]) ?? 0;
}

function pastOf(state: OrchestratorState, { stage }: StageMerge): number | null {
  const { payloadNorms } = present(state.scales.stages[stage], "every stage has scales");
  return payloadNorms.length < roundsForPast ? null : lowerMedian(payloadNorms);
}

const middleOfOthers = (state: OrchestratorState, merge: StageMerge): number | null =>
  lowerMedian(middlesOfOthers(state, merge));

/** From their last rounds, otherwise from this merge. */
function middlesOfOthers(state: OrchestratorState, { stage }: StageMerge): number[] {
  return state.scales.stages.flatMap(({ payloadNorms }, index) => {
    if (index === stage) return [];
    const now = [...state.merge?.stages[index]?.lengths.values() ?? []];
    return lowerMedian(payloadNorms) ?? lowerMedian(now) ?? [];
  });
}
