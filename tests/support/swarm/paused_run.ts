/** What the tests of a full disk look at: time that passes while a run is paused, and what the pause must not have cost. */

import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { World } from "../../lab/world/world.ts";
import { recordsOf } from "./whole_run.ts";

export function mergedHashes(swarm: World): string[] {
  return recordsOf(swarm, "roundMerged").flatMap(({ round, stages }) =>
    stages.map(({ stage, parameters }) => `${round}.${stage} ${parameters}`)
  );
}

/** Lets links live through a long time. */
export async function pass(swarm: World, durationMs: number): Promise<void> {
  for (let passedMs = 0; passedMs < durationMs; passedMs += 2_000) {
    await swarm.quiet();
    swarm.clock.advance(2_000);
  }
  await swarm.quiet();
}

export function assertPausedOnce(swarm: World, { atLeastMs, what }: { atLeastMs: number; what: string }): void {
  const [paused, second] = recordsOf(swarm, "runPaused");
  assert(paused !== undefined && second === undefined, "one sentence");
  assertStringIncludes(paused.text, what);
  assertStringIncludes(paused.text, "make room and it continues by itself");
  assertEquals(recordsOf(swarm, "runContinued").map(({ pausedMs }) => pausedMs >= atLeastMs), [true]);
  assertEquals([recordsOf(swarm, "nodeLost"), recordsOf(swarm, "taskReleased")], [[], []]);
  assertEquals([recordsOf(swarm, "mergeLate"), recordsOf(swarm, "faultSeen")], [[], []]);
}
