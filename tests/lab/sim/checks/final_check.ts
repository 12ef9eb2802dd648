/**
 * What must be true when a simulation is over: nothing is held without a reference in some state, nothing grew without
 * bound, no honest node was banned, and no microbatch is missing.
 */

import { heldSegments } from "../../../../core/orchestrator/closing.ts";
import type { OrchestratorState } from "../../../../core/orchestrator/state.ts";
import { must } from "./violation.ts";
import type { SimulatedSwarm } from "../simulated_swarm.ts";

export function mustEndClean(world: SimulatedSwarm): void {
  const { hub, shape: { config } } = world;
  for (const process of [...world.miners.all, ...world.validators.all]) {
    must(
      process.segments.holders === process.heldByState(),
      "a node holds what its state names",
      () => `${process.node} holds ${process.segments.holders} segments, its state names ${process.heldByState()}`,
    );
  }
  must(
    world.network.mostOutboxBytes <= config.limits.outboxBytes,
    "outboxes are bounded",
    () => `${world.network.mostOutboxBytes} bytes`,
  );
  const { counters, expelled } = hub.state;
  for (const node of expelled) must(world.dishonest.has(node), "an honest node is never banned", () => node);
  const open = hub.state.work?.flows.length ?? 0;
  must(
    counters.microbatchesIssued === counters.microbatchesCredited + open,
    "no microbatch is lost",
    () => `issued ${counters.microbatchesIssued}, credited ${counters.microbatchesCredited}, open ${open}`,
  );
  const mostStrays = mostStrayBlobs(world);
  must(
    strayBlobs(world) <= mostStrays,
    "stored blobs are bounded",
    () => `${strayBlobs(world)} blobs that no state names, more than the ${mostStrays} of lost and wrong answers`,
  );
  const held = hub.state.phase === "finished" ? 0 : heldSegments(hub.state).length;
  must(
    hub.heldCount === held,
    "the orchestrator holds what its state names",
    () => `it holds ${hub.heldCount} segments, its state names ${held}`,
  );
}

/** The least number of stored blobs that are no longer referenced. */
export function strayBlobs({ blobs, hub }: SimulatedSwarm): number {
  return Math.max(0, blobs.size - namedBlobs(hub.state));
}

/**
 * Blobs of an answer that was late, wrong or missing stay in the store until the second sweep after: at most what the
 * miners of two rounds can store, however long the run.
 */
function mostStrayBlobs({ checkers, miners }: SimulatedSwarm): number {
  return 2 * miners.size * (checkers.mostSlices + 2);
}

/** The most blobs that the open rounds, the upload and the merge can consist of. */
function namedBlobs({ stages, retired, upload, merge }: OrchestratorState): number {
  const ofRounds = 2 * stages.length * (1 + retired.length);
  const ofUpload = upload === null ? 0 : 2 * stages.length + upload.payloads.length;
  let ofMerge = 0;
  for (const stage of merge?.stages ?? []) {
    ofMerge += stage.layout.length * stage.participants.size; // payloads, committed or on their way
    for (const { hashes } of stage.payloads.values()) ofMerge += hashes.length;
    for (const slice of stage.slices) ofMerge += slice.asked.length;
  }
  return ofRounds + ofUpload + ofMerge;
}
