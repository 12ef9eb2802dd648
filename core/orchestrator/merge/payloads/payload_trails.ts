/**
 * Accumulated sketches of a miner's payloads over several rounds, for codecs with a residual.
 *
 * Sparse payloads have few values in common: honest ones of 1/64 of the values have cosines of 0.05 with each other.
 * Their sums have 0.5 and more with the others' mean after eight rounds and 0.7 after 24 (tests/lab/LOG.md), because a
 * residual eventually sends everything. Older rounds decay as in a residual, and no payload counts as longer than its
 * round's median, so that a huge one cannot hide later ones. The sketch key is never revealed.
 */

import { derivedKey } from "../../../chacha.ts";
import type { NodeId } from "../../../ids.ts";
import { lowerMedian } from "../../../lower_median.ts";
import { payloadCodecOf } from "../../../update/payload/payload_codecs.ts";
import type { OrchestratorState } from "../../state.ts";
import type { StageMerge, Trail } from "../merge_state.ts";

/** After these an honest sum agrees with long ones. */
export const youngRounds = 8;

const keyIndex = 2 ** 40; // not a round's

/** The same for all payloads that are compared. */
export function sketchKeyOf({ config, secret, stream }: OrchestratorState): number {
  const { keepsResidual } = payloadCodecOf(config);
  const [key] = keepsResidual ? derivedKey(secret, keyIndex) : stream.key;
  return key!;
}

/** Includes this merge's payload; null: the codec keeps no residual. */
export function trailOf(state: OrchestratorState, { merge, node }: { merge: StageMerge; node: NodeId }): Trail | null {
  const { keepsResidual, mostRounds } = payloadCodecOf(state.config);
  const shape = merge.shapes.get(node);
  const member = state.members.get(node);
  if (!keepsResidual || shape === undefined || member === undefined) return null;
  const sketch = withinUsual(shape.sketch, { merge, node });
  const { assignment } = member;
  const before = state.trails.get(node);
  if (before?.assignment !== assignment || before.sketch.length !== sketch.length) {
    return { assignment, rounds: 1, sketch };
  }
  const fading = 1 - 1 / mostRounds;
  return {
    assignment,
    rounds: before.rounds + 1,
    sketch: sketch.map((value, i) => value + fading * before.sketch[i]!),
  };
}

function withinUsual(
  sketch: readonly number[],
  { merge: { lengths }, node }: { merge: StageMerge; node: NodeId },
): readonly number[] {
  const usual = lowerMedian([...lengths.values()]) ?? 0;
  const length = lengths.get(node) ?? 0;
  return length > usual ? sketch.map((value) => value * usual / length) : sketch;
}

export function keepTrails(state: OrchestratorState, merge: StageMerge): void {
  for (const node of merge.shapes.keys()) {
    const trail = trailOf(state, { merge, node });
    if (trail !== null) state.trails.set(node, trail);
  }
}

export function dropTrails({ trails, members }: OrchestratorState): void {
  for (const node of trails.keys()) if (!members.has(node)) trails.delete(node);
}
