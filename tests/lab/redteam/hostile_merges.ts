/** Attackers in a step's gradient commitment and in the merge: false norms, payloads of float32, reductions and votes. */

import type { BlobRef } from "../../../core/ids.ts";
import { bytesOfFloats, floatsOf } from "../../../core/model/vector_bytes.ts";
import type { NodeMessage } from "../../../core/protocol/message.ts";
import { refOf } from "../../../net/blob_hash.ts";
import { payloadHash } from "../../../cli/roles/payload_hash.ts";
import { type Hostile, instead, together } from "./hostile_node.ts";
import type { Spoil } from "./hostile_wires.ts";
import type { MemoryHubBlobs } from "../world/memory_hub_blobs.ts";

/** Falsifies its gradient's squared norm. */
export const reportsNorm = (change: (squareSum: number) => number): Hostile =>
  instead("stepSealed", ({ message }) => ({ ...message, gradientSquareSum: change(message.gradientSquareSum) }));

type Rewrite = (bytes: Uint8Array<ArrayBuffer>) => Uint8Array;

function exchange(store: MemoryHubBlobs, { ref, rewrite }: { ref: BlobRef; rewrite: Rewrite }): BlobRef {
  const stored = store.held.get(ref.hash);
  if (stored === undefined) return ref;
  const bytes = rewrite(stored.slice());
  store.held.set(refOf(bytes).hash, bytes);
  return refOf(bytes);
}

/** Of bytes that hold float32 values. */
const spoiling = (spoil: Spoil): Rewrite => (bytes) => {
  const values = floatsOf(bytes);
  spoil(values);
  return bytesOfFloats(values);
};

/** Stores and commits other bytes than it computed, slice by slice. */
export const commitsBytes = (rewrite: Rewrite): Hostile =>
  instead("payloadCommitted", ({ message, store }) => {
    const slices = message.slices.map((ref) => exchange(store, { ref, rewrite }));
    return { ...message, slices, payload: payloadHash(slices) };
  });

/** Stores and commits another payload of float32 than it computed. */
export const commitsPayload = (spoil: Spoil): Hostile => commitsBytes(spoiling(spoil));

/** A false mean of a slice; the same spoil on two replicas makes two equal results. */
export const reducesFalsely = (spoil: Spoil): Hostile =>
  instead("sliceReduced", ({ message, store }) => ({
    ...message,
    result: exchange(store, { ref: message.result, rewrite: spoiling(spoil) }),
  }));

/** Shows and uploads this vector instead of what the outer step gave; every liar with the same value shows the same. */
export const showsFalsely = (part: "parameters" | "momentum", value: number): Hostile => {
  const lie = (store: MemoryHubBlobs, { bytes }: BlobRef): BlobRef => {
    const vector = bytesOfFloats(new Float32Array(bytes / 4).fill(value));
    store.held.set(refOf(vector).hash, vector);
    return refOf(vector);
  };
  return together(
    instead("mergeApplied", ({ message, store }) => falsified(message, { part, lie: (ref) => lie(store, ref) })),
    instead("parametersUploaded", ({ message, store }) => falsified(message, { part, lie: (ref) => lie(store, ref) })),
  );
};

function falsified<Shown extends { readonly parameters: BlobRef; readonly momentum: BlobRef | null }>(
  shown: Shown,
  { part, lie }: { part: "parameters" | "momentum"; lie: (ref: BlobRef) => BlobRef },
): Shown {
  return { ...shown, [part]: lie(shown.parameters) };
}

/** Withholds these messages; the orchestrator waits for them. */
export const keepsBack = (...types: readonly NodeMessage["type"][]): Hostile => ({
  say: ({ message }) => types.includes(message.type) ? [] : [message],
});

/** Commits in every merge what it committed in the first, without making any change of its own known. */
export function copiesPayload(): Hostile {
  let first: readonly Uint8Array[] | null = null;
  return instead("payloadCommitted", ({ message, store }) => {
    first ??= message.slices.map(({ hash }) => store.held.get(hash)?.slice() ?? new Uint8Array());
    const slices = first.map((bytes) => {
      store.held.set(refOf(bytes).hash, bytes);
      return refOf(bytes);
    });
    return { ...message, slices, payload: payloadHash(slices) };
  });
}

/** Like a miner that was killed and started again. */
export const joinsAnew: NodeMessage = {
  type: "join",
  role: "miner",
  adapter: "new",
  previousStage: null,
  listens: null,
  holding: null,
};

/** Commits to its gradient of such a step, and takes it away: its work counts, but no payload contains it. */
export const leavesConfirmed = (isMeant: (step: number) => boolean): Hostile => ({
  say: ({ message }) =>
    message.type === "stepSealed" && isMeant(message.step)
      ? [message, { type: "leaving", reason: "bye" }, joinsAnew]
      : [message],
});
