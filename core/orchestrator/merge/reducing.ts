/**
 * The reducing phase: which replica reduces which slice, and which result is accepted.
 *
 * If the orchestrator has little to read, it reduces alone: a miner sends its payload and reads the result, the least
 * that any merge can send. A large stage uses a butterfly all-reduce: each slice goes to two replicas and to the
 * orchestrator, which reduces sampled ones at once and the others after the replicas. Its result decides even if they
 * agree, because two of three may collude; reducers with another result are banned.
 */

import { present } from "../../assert.ts";
import type { BlobRef, NodeId, StageIndex } from "../../ids.ts";
import type { RunConfig } from "../../config/config.ts";
import { assignReducers } from "../../update/butterfly.ts";
import { defaultReducers } from "../../config/payload_codec_names.ts";
import { payloadCodecOf } from "../../update/payload/payload_codecs.ts";
import { shuffle } from "../../prng.ts";
import { convict } from "../members/blame.ts";
import { type OrchestratorEffect, record } from "../event.ts";
import { noteQuorum } from "./merge_deadlines.ts";
import { enter } from "./merge_phase.ts";
import { payloadSlice, type Reducer, type SliceWork, type StageMerge } from "./merge_state.ts";
import { whyEmpty } from "./losses/lost_stages.ts";
import { weighPayloads } from "./payloads/payload_check.ts";
import { askReducers } from "./reducers.ts";
import type { OrchestratorState } from "../state.ts";

/** Also restarts without removed payloads. */
export function reduce(state: OrchestratorState, options: { merge: StageMerge; nowMs: number }): OrchestratorEffect[] {
  const { merge, nowMs } = options;
  weighPayloads(state, merge);
  merge.isStale = false;
  merge.edition += 1;
  const entered = [enter(state, { merge, phase: "reducing", nowMs })];
  if (merge.payloads.size === 0) {
    merge.lostBecause = whyEmpty(state, merge);
    return entered;
  }
  const own = ownAverage(state, merge);
  if (own !== null) {
    merge.slices = own.map((ref) => newSlice({ asked: [], accepted: ref }));
    merge.openSlices = 0;
    return entered;
  }
  merge.slices = reducersOf(state, merge).map((asked) => newSlice({ asked, accepted: null }));
  merge.openSlices = merge.slices.length;
  const requests = merge.slices.flatMap(({ asked }, index) => asked.map((reducer) => ({ index, reducer })));
  return [...entered, ...askReducers(state, { merge, requests })];
}

/** The slices of a merge whose only payload counts whole; null: it needs computation. */
function ownAverage({ config }: OrchestratorState, { payloads, scales }: StageMerge): BlobRef[] | null {
  const [only, second] = payloads;
  if (only === undefined) return null;
  const [node, payload] = only;
  const isMean = second === undefined && payloadCodecOf(config).isOwnAverage && (scales.get(node) ?? 1) === 1;
  return isMean ? payload.hashes.map((_, index) => payloadSlice(payload, index)) : null;
}

const mostRepeated = 2 ** 26; // floats that the orchestrator reads at once in a stage and round: 256 MiB of them

export function reducesAlone(
  { config, stageFloats }: { readonly config: RunConfig; readonly stageFloats: readonly number[] },
  { stage, payloads }: { stage: StageIndex; payloads: number },
): boolean {
  const { reducers = defaultReducers } = config.outer;
  if (reducers !== "auto") return reducers === "hub";
  return payloads * present(stageFloats[stage], "every stage has a length") <= mostRepeated;
}

function reducersOf(state: OrchestratorState, merge: StageMerge): Reducer[][] {
  if (merge.isCentral) return merge.layout.map(() => ["hub"]);
  const inOrder = [...merge.participants];
  const replicas = inOrder.length;
  const pairs = replicas >= 2
    ? assignReducers({ slices: merge.layout.length, miners: replicas, stream: state.stream })
    : merge.layout.map(() => replicas === 0 ? [] : [0]);
  const repeated = repeatedSlices(state, merge);
  return pairs.map((pair, index) => {
    const asked: Reducer[] = [...pair].map((place) => present(inOrder[place], "a reducer is a participant"));
    return asked.length < 2 || repeated.has(index) ? [...asked, "hub"] : asked;
  });
}

/** Sampled in secret: all slices while that is cheap, a share in a large stage. */
function repeatedSlices(state: OrchestratorState, merge: StageMerge): ReadonlySet<number> {
  const count = merge.layout.length;
  const floats = merge.payloads.size * present(state.stageFloats[merge.stage], "every stage has a length");
  const repeated = Math.min(count, Math.max(1, Math.floor((count * mostRepeated) / floats)));
  const indices = merge.layout.map((_, index) => index);
  return new Set(repeated === count ? indices : shuffle(state.stream, indices).slice(0, repeated));
}

const newSlice = (given: Pick<SliceWork, "asked" | "accepted">): SliceWork => ({
  ...given,
  told: new Set(),
  results: new Map(),
  without: new Set(),
});

export function judgeSlices(
  state: OrchestratorState,
  options: { merge: StageMerge; nowMs: number },
): OrchestratorEffect[] {
  const { merge } = options;
  const effects: OrchestratorEffect[] = [];
  for (let index = merge.unjudged.pop(); index !== undefined; index = merge.unjudged.pop()) {
    effects.push(...judgeSlice(state, { ...options, index }));
  }
  noteQuorum(state, options);
  return effects;
}

/** The orchestrator is asked last: its processor serves all stages. */
function judgeSlice(
  state: OrchestratorState,
  options: { merge: StageMerge; index: number; nowMs: number },
): OrchestratorEffect[] {
  const { merge, index } = options;
  const slice = present(merge.slices[index], "a judged slice exists");
  if (slice.accepted !== null || slice.asked.some((reducer) => !slice.results.has(reducer))) return [];
  const answers = [...slice.results];
  const result = slice.results.get("hub");
  const disputed = (liar: NodeId | null) =>
    record({ type: "sliceDisputed", round: state.round, stage: merge.stage, slice: index, liar });
  if (result === undefined) {
    slice.asked.push("hub");
    const asks = askReducers(state, { merge, requests: [{ index, reducer: "hub" }] });
    return areEqual(answers.map(([, ref]) => ref)) ? asks : [disputed(null), ...asks];
  }
  accept(merge, { slice, ref: result });
  const liars = answers.flatMap(([reducer, ref]) => reducer === "hub" || ref.hash === result.hash ? [] : [reducer]);
  for (const node of liars) convict(state, { node, reason: "the slice it reduced is not the mean of the payloads" });
  return liars.map(disputed);
}

const areEqual = (results: readonly BlobRef[]): boolean => new Set(results.map(({ hash }) => hash)).size <= 1;

function accept(merge: StageMerge, { slice, ref }: { slice: SliceWork; ref: BlobRef }): void {
  slice.accepted = ref;
  merge.openSlices -= 1;
}
