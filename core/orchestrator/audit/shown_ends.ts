/**
 * The payload consistency check: from parameters that a miner opened, the round's remaining steps lead only so far
 * (core/train/longest_way.ts), so a payload that ends elsewhere is false.
 *
 * Both changes are sketched with one secret key (core/update/payload_shape.ts). The standard deviation of the sketches'
 * distance is at most 1 / sqrt(2 * sketchWidth), 4.4 %; `leeway` is more than five of them. Codecs with a residual are
 * excluded: their payloads follow from earlier rounds as well.
 */

import { present } from "../../assert.ts";
import { fault } from "../../fault.ts";
import type { NodeId, StageIndex } from "../../ids.ts";
import { payloadCodecOf } from "../../update/payload/payload_codecs.ts";
import { longestWay } from "../../train/longest_way.ts";
import type { OrchestratorEffect } from "../event.ts";
import { blame, convict } from "../members/blame.ts";
import type { SketchedWay } from "./audit_state.ts";
import type { StageMerge } from "../merge/merge_state.ts";
import type { OrchestratorState } from "../state.ts";

const leeway = 1.4;
const rounding = 0.05; // of the payload's length: bf16 and int8 round by 0.4 % and at most 4 %

export function noteShownWay(
  state: OrchestratorState,
  { node, stage, way }: { node: NodeId; stage: StageIndex; way: SketchedWay },
): OrchestratorEffect[] {
  if (!isComparable(state)) return [];
  const { shownWays, payloadWays } = state.audit;
  const payload = payloadWays.get(node);
  if (payload?.round === way.round) return contradiction(state, { node, stage, shown: way, payload });
  shownWays.set(node, [...shownWays.get(node) ?? [], way]);
  return [];
}

/**
 * Compares a checked payload with the opened parameters, or keeps it until they come. Effects: it must not be merged.
 */
export function notePayloadWay(
  state: OrchestratorState,
  { merge, node, sketch }: { merge: StageMerge; node: NodeId; sketch: readonly number[] },
): OrchestratorEffect[] {
  const member = state.members.get(node);
  if (!isComparable(state) || member === undefined || state.replaced.has(merge.stage)) return [];
  const { audit: { shownWays, payloadWays, awaited }, round, roundRates } = state;
  const payload: SketchedWay = { round, assignment: member.assignment, reach: roundRates, sketch };
  const shown = shownWays.get(node)?.filter((way) => way.round === round) ?? [];
  shownWays.delete(node);
  if (awaited.get(node)?.some((each) => each.round === round) === true) payloadWays.set(node, payload);
  for (const way of shown) {
    const effects = contradiction(state, { node, stage: merge.stage, shown: way, payload });
    if (effects.length > 0) return effects;
  }
  return [];
}

export function forgetWays({ audit: { shownWays, payloadWays }, round }: OrchestratorState): void {
  for (const [node, ways] of shownWays) if (ways.every((way) => way.round < round - 1)) shownWays.delete(node);
  for (const [node, way] of payloadWays) if (way.round < round - 1) payloadWays.delete(node);
}

const isComparable = ({ config }: OrchestratorState): boolean => payloadCodecOf(config).mostRounds === 1;

function contradiction(
  state: OrchestratorState,
  { node, stage, shown, payload }: { node: NodeId; stage: StageIndex; shown: SketchedWay; payload: SketchedWay },
): OrchestratorEffect[] {
  if (shown.assignment !== payload.assignment || shown.sketch.length !== payload.sketch.length) return [];
  const { honestLength } = longestWay(state.config);
  const unit = Math.sqrt(present(state.stageFloats[stage], "every stage has a length"));
  const left = honestLength * (payload.reach - shown.reach) * unit;
  const most = leeway * (left + rounding * lengthOf(payload.sketch));
  const apart = lengthOf(payload.sketch.map((value, i) => value - shown.sketch[i]!));
  if (!(apart > most)) return [];
  const detail = `Its payload of round ${shown.round} does not follow from the parameters that it opened: ` +
    `it ends ${apart.toPrecision(3)} away from them, and the remaining steps lead at most ${most.toPrecision(3)}`;
  if (state.round === shown.round) state.roundUnits.delete(node);
  const effects = blame(state, { node, fault: fault("badNumbers", detail) });
  convict(state, { node, reason: detail });
  return effects;
}

const lengthOf = (sketch: readonly number[]): number =>
  Math.sqrt(sketch.reduce((sum, value) => sum + value * value, 0));
