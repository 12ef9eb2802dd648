/**
 * A merge of one stage on the scripted orchestrator, up to where the replicas show what they made of it.
 *
 * Owns made-up payloads and a hash that all reducers agree on; the test decides what replicas show.
 */

import type { BlobRef, NodeId } from "../../../core/ids.ts";
import { payloadCodecOf } from "../../../core/update/payload/payload_codecs.ts";
import type { StageMerge } from "../../../core/orchestrator/merge/merge_state.ts";
import type { TinyOverrides } from "../tiny_model.ts";
import { ScriptedOrchestrator } from "./scripted_orchestrator.ts";

export interface ScriptedMerge {
  readonly hub: ScriptedOrchestrator;
  readonly nodes: NodeId[]; // in slot order
}

/** Replicas of the only stage, each with work done, at the beginning of a merge. */
export function merging(replicas: number, { model, train, outer }: TinyOverrides = {}): ScriptedMerge {
  const hub = new ScriptedOrchestrator({
    model: { layers: 1, ...model },
    pipeline: { stages: 1, codec: "none" },
    train: { microbatchesPerStep: 10, steps: 100, stepsPerRound: 1, ...train },
    ...(outer === undefined ? {} : { outer }),
    swarm: { replicas, validators: 0 },
    limits: { mergePhaseMs: 60_000, mergeGraceMs: 5_000, mergeQuorum: 0.8, leaseMs: 600_000 },
  });
  const nodes = Array.from({ length: replicas }, (_, i) => hub.ready(`miner-${i}`));
  hub.work(nodes);
  for (const node of nodes) hub.seal(node);
  return { hub, nodes };
}

/** The same when every replica has been asked to apply it. */
export function applying(replicas: number): ScriptedMerge {
  const { hub, nodes } = merging(replicas);
  for (const node of nodes) commit(hub, node);
  reduceAll(hub, nodes);
  return { hub, nodes };
}

export function commit(hub: ScriptedOrchestrator, node: NodeId): void {
  const { round, slices } = hub.take(node, "startMerge");
  const bytesOf = (size: number) => payloadCodecOf(hub.state.config).payloadBytes(size).least;
  hub.tell(node, { type: "payloadCommitted", round, slices: slices.map(({ size }) => hub.blob(bytesOf(size))) });
}

export function reduceAll(hub: ScriptedOrchestrator, nodes: readonly NodeId[]): void {
  const { round } = hub.state;
  const { hash } = hub.blob(64);
  hub.reduced = hash;
  for (const effect of hub.effects) {
    if (effect.type !== "refereeSlice" || effect.round !== round) continue;
    const { edition, stage, slice, inputs } = effect;
    const result = { hash, bytes: inputs[0]!.payload.bytes };
    hub.step({ type: "sliceRefereed", round, edition, stage, slice, result });
  }
  for (const node of nodes) {
    for (const message of [...hub.inbox(node)]) {
      if (message.type !== "reduceSlice") continue;
      const { edition, slice, inputs } = message;
      const { bytes } = inputs[0]!.payload;
      hub.tell(node, { type: "sliceReduced", round, edition, slice, result: { hash, bytes } });
    }
  }
  hub.reduced = null; // the next round's is another
}

/** The orchestrator has taken the outer step that it was asked for last. */
export function hubMerges(hub: ScriptedOrchestrator, parameters: BlobRef, momentum: BlobRef | null = null): void {
  const asked = hub.effects.findLast((effect) => effect.type === "refereeMerge");
  if (asked === undefined) throw new Error("The orchestrator was not asked to take the outer step");
  const { round, stage, slices } = asked;
  hub.step({ type: "mergeRefereed", round, stage, slices, parameters, momentum });
}

/** Until the merge waits no longer for its round's audits. */
export const passWait = (hub: ScriptedOrchestrator): void => hub.wait(hub.state.interval.stepsMs / 10);

export const stageOf = (hub: ScriptedOrchestrator): StageMerge => hub.state.merge!.stages[0]!;
