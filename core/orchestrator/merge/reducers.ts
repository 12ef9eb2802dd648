/** Requests to reduce slices, and replacements for reducers that do not answer. */

import { present } from "../../assert.ts";
import type { NodeId } from "../../ids.ts";
import { shuffle } from "../../prng.ts";
import type { WeightedPayload } from "../../protocol/merge_messages.ts";
import { type OrchestratorEffect, send } from "../event.ts";
import type { OrchestratorState } from "../state.ts";
import { type Payload, payloadSlice, type Reducer, type SliceWork, type StageMerge } from "./merge_state.ts";
import { forgive, owe } from "./owing.ts";

export interface ReduceRequest {
  readonly index: number;
  readonly reducer: Reducer;
}

export function askReducers(
  state: OrchestratorState,
  { merge, requests }: { merge: StageMerge; requests: readonly ReduceRequest[] },
): OrchestratorEffect[] {
  for (const { reducer, index } of requests) {
    if (reducer === "hub") continue;
    owe(merge, reducer);
    present(merge.slices[index], "a slice to reduce").told.add(reducer);
  }
  return reduceEffects(state, { merge, requests });
}

export function reduceEffects(
  state: OrchestratorState,
  { merge, requests }: { merge: StageMerge; requests: readonly ReduceRequest[] },
): OrchestratorEffect[] {
  if (requests.length === 0) return [];
  const { round } = state;
  const payloads = payloadsInOrder(merge);
  const inputsOf = new Map<number, readonly WeightedPayload[]>();
  return requests.map(({ index, reducer }) => {
    const inputs = inputsOf.get(index) ?? sliceInputs(merge, { payloads, index });
    inputsOf.set(index, inputs);
    return reducer === "hub"
      ? { type: "refereeSlice", round, edition: merge.edition, stage: merge.stage, slice: index, inputs }
      : send(reducer, { type: "reduceSlice", round, edition: merge.edition, slice: index, inputs });
  });
}

interface Contribution {
  readonly node: NodeId;
  readonly payload: Payload;
  readonly weight: number;
}

/** In slot order, like `weights`. */
function payloadsInOrder(merge: StageMerge): Contribution[] {
  const payloads: Contribution[] = [];
  for (const [node, weight] of merge.weights) {
    const payload = merge.payloads.get(node);
    if (payload !== undefined) payloads.push({ node, payload, weight });
  }
  return payloads;
}

function sliceInputs(
  merge: StageMerge,
  { payloads, index }: { payloads: readonly Contribution[]; index: number },
): WeightedPayload[] {
  const { without } = present(merge.slices[index], "a slice to reduce");
  const inputs: WeightedPayload[] = [];
  for (const { node, payload, weight } of payloads) {
    if (without.has(node)) continue;
    inputs.push({ payload: payloadSlice(payload, index), weight, scale: merge.scales.get(node) ?? 1 });
  }
  const counted = inputs.filter(({ scale }) => scale > 0);
  return counted.length > 0 ? counted : inputs; // the store may have lost the others
}

export function replaceReducer(
  state: OrchestratorState,
  options: { merge: StageMerge; node: NodeId },
): OrchestratorEffect[] {
  const { merge, node } = options;
  const requests: ReduceRequest[] = [];
  forgive(merge, node);
  for (const [index, slice] of merge.slices.entries()) {
    const place = slice.asked.indexOf(node);
    if (slice.accepted !== null || place === -1 || slice.results.has(node)) continue;
    const other = nextReducer(state, { merge, slice });
    slice.asked.splice(place, 1);
    merge.unjudged.push(index);
    if (slice.asked.includes(other)) continue;
    slice.asked.push(other);
    requests.push({ index, reducer: other });
  }
  return askReducers(state, { merge, requests });
}

/** Random among those that are asked for the fewest slices, so that nobody knows who replaces whom. */
function nextReducer(
  { stream }: OrchestratorState,
  { merge, slice }: { merge: StageMerge; slice: SliceWork },
): Reducer {
  const able = [...merge.participants].filter((node) => !slice.asked.includes(node) && !merge.slow.has(node));
  const asked = new Map<Reducer, number>(able.map((node) => [node, 0]));
  for (const reducer of merge.slices.flatMap((other) => other.asked)) {
    const count = asked.get(reducer);
    if (count !== undefined) asked.set(reducer, count + 1);
  }
  const fewest = Math.min(...asked.values());
  const [next] = shuffle(stream, able.filter((node) => asked.get(node) === fewest));
  return next ?? "hub";
}
