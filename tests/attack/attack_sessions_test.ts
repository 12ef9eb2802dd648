/** Attack suite: members that use lost sessions and their own pace to hold a step. */

import { assert } from "@std/assert";
import { type Row, testAttacks } from "../support/attack/attack_checks.ts";
import { beginsAnew, everSlower, joinsTimes, returnsEmptyHanded } from "../support/attack/hostile_sessions.ts";
import { nodeId } from "../../core/ids.ts";
import { isResting } from "../../core/orchestrator/members/blame.ts";
import type { Aftermath } from "../support/attack/attacked_run.ts";
import type { Hostile } from "../lab/redteam/hostile_node.ts";
import type { Timers } from "../../net/timers.ts";

const two = (hostile: () => Hostile) => [0, 1].map((replica) => ({ stage: 1, replica, hostile: hostile() }));

const rows = (): readonly Row[] => [
  { name: "back with empty hands", miners: [{ stage: 1, hostile: returnsEmptyHanded() }] },
  { name: "two of three back with empty hands", culprit: "tolerated", miners: two(returnsEmptyHanded) },
  { name: "a new member", miners: [{ stage: 1, hostile: beginsAnew({ isPolite: false }) }] },
  { name: "a farewell and a new member", miners: [{ stage: 1, hostile: beginsAnew({ isPolite: true }) }] },
  {
    name: "two of three that leave and join",
    culprit: "tolerated",
    also: ({ state, hostile }) => {
      for (const node of hostile) assert(isResting(state, nodeId(node)), `${node} still has its place`);
    },
    miners: two(() => beginsAnew({ isPolite: true })),
  },
];

testAttacks("in place of a gradient commitment", rows);

function slower(stage: number): Row {
  let clock: Timers | null = null;
  const hostile = everSlower({ timers: () => clock, mostMs: 18_500 });
  return {
    name: `of stage ${stage}, never late`,
    steps: 24,
    culprit: "unpaid",
    slowRounds: 4,
    also: assertNotStretched,
    miners: [{ stage, hostile }],
    meddle: (swarm) => clock = swarm.clock.timers,
  };
}

/** A calm round takes 10 s; without a bound this one's last rounds take 67 s and 182 s, with nobody late. */
function assertNotStretched({ merged }: Aftermath): void {
  const times = merged.map((atMs, i) => atMs - (merged[i - 1] ?? 0));
  assert(times.every((timeMs) => timeMs < 30_000), `rounds took ${times} ms`);
}

testAttacks("ever slower", () => [0, 1, 2].map(slower));

/** Each is answered by a welcome and an assignment, and fills the journal. */
testAttacks("joins without end", () => [
  { name: "by one miner", culprit: "unpaid", miners: [{ stage: 1, hostile: joinsTimes(4000) }] },
]);
