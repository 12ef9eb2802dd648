/** What the fault scenarios share: a small run, its records by type, and everything that must hold when it went well. */

import { assertEquals } from "@std/assert";
import type { RunConfig } from "../../../core/config/config.ts";
import { orchestrator } from "../../../core/orchestrator/machine.ts";
import type { RunRecord } from "../../../core/protocol/record.ts";
import type { World } from "../../lab/world/world.ts";
import { tinyConfig, type TinyOverrides } from "../tiny_model.ts";

export function configOf(overrides: TinyOverrides = {}) {
  return tinyConfig({
    model: { width: 32 },
    train: { steps: 6, stepsPerRound: 3 },
    deterministic: false,
    pipeline: { codec: "iota" },
    outer: { learningRate: 1, momentum: 0 },
    ...overrides,
    swarm: { replicas: 2, validators: 0, ...overrides.swarm },
  });
}

export function recordsOf<T extends RunRecord["type"]>(swarm: World, type: T): Extract<RunRecord, { type: T }>[] {
  return swarm.records.all.filter((record): record is Extract<RunRecord, { type: T }> => record.type === type);
}

/**
 * By how much an honest task may be off: not at all in a round's first step, which is repeated with the round's parameters; by
 * their rounding where the miner showed them (core/update/shown_change.ts).
 */
export function honestError({ train }: RunConfig, { task, round }: { task: string; round: number }): number {
  const later = (round * train.stepsPerRound + 1) * train.microbatchesPerStep;
  return Number(task.split(".")[0]) < later ? 0 : 1e-3;
}

/** Everything that must hold when a run went well. */
export function assertWhole(swarm: World, steps = 6): void {
  const { state, segments } = swarm.orchestrator;
  orchestrator.assertInvariants(state);
  const { microbatchesIssued, microbatchesCredited, disagreements } = state.counters;
  assertEquals([state.phase, state.step, disagreements], ["finished", steps, 0]);
  assertEquals(microbatchesIssued, microbatchesCredited);
  assertEquals(countedSteps(swarm), Array.from({ length: steps }, (_, i) => i + 1));
  assertEquals(segments.bytes, 0, "no segment is held after the run");
}

/** Steps that were closed and not taken back since. */
function countedSteps(swarm: World): number[] {
  let closed: number[] = [];
  for (const record of swarm.records.all) {
    if (record.type === "stepClosed") closed.push(record.step);
    if (record.type === "rewound") closed = closed.filter((step) => step <= record.toStep);
    if (record.type === "mergeRetaken") closed = closed.filter((step) => step <= record.step);
  }
  return closed;
}
