/** What the view keeps of each node's conduct, and of the agreement of replicas. */

import { assertEquals } from "@std/assert";
import { nodeId, taskId } from "../../../core/ids.ts";
import { memberFacts, reasonsOf } from "../../../cli/observe/dashboard/page/member_page.ts";
import { runSnapshot } from "../../../cli/observe/public/public_run.ts";
import { foldAt, openedView, sampleMiners, sampleRun, sampleValidator } from "../../support/sample_run.ts";

Deno.test("Conduct: audits, taken tasks, faults and lateness count for the node they are about, over a rejoining too", () => {
  const view = openedView();
  for (const { record, atMs } of sampleRun(40)) foldAt(view, record, atMs);
  const [node] = [sampleMiners[4]!];
  const { audits } = view.nodes[node]!.conduct;
  assertEquals([audits.passed, audits.failed, audits.last!.passed], [1, 1, true]);
  foldAt(view, { type: "faultSeen", node, code: "x".repeat(1_000), detail: "" }, 1);
  foldAt(view, { type: "faultSeen", node, code: "staleResult", detail: "" }, 1);
  foldAt(view, { type: "blamed", node, code: "wrongSlice", detail: "" }, 2);
  foldAt(view, { type: "mergeLate", round: 1, stage: 2 as never, node, phase: "reducing" }, 3);
  foldAt(view, { type: "faultSeen", node: null, code: "stranger", detail: "" }, 4);
  foldAt(view, { type: "nodeJoined", node, role: "miner", adapter: "" }, 5);
  const task = taskId({ microbatch: 1 as never, stage: 2 as never, direction: "forward", attempt: 0 });
  foldAt(view, { type: "taskReleased", task, node, reason: "late" }, 6);
  const { released, late, outrun, faults, blamed, lastFault } = view.nodes[node]!.conduct;
  assertEquals({ released, late, outrun, faults, blamed, lastFault }, {
    ...{ released: 1, late: 1, outrun: 1, faults: 1, blamed: 1, lastFault: "wrongSlice" },
  });
  const state = runSnapshot(view, { sequence: 1, atMs: 1 });
  assertEquals(state.conduct[sampleMiners[5]!], undefined);
  const facts = memberFacts(state, state.members[node]!, state.conduct[node]!);
  assertEquals(facts.map(({ value }) => value).slice(5), [
    ...[
      "1 passed, 1 failed",
      "2.6e-7, limit 0.01",
      "1",
      "1",
      "1, which costs nothing",
      "1, 1 proven; last 'wrongSlice'",
    ],
  ]);
  assertEquals(reasonsOf(state.members[node]!, state.conduct[node]!)[0], "⚠ 1 proven fault; three ban it.");
});

Deno.test("Agreement: the latest twelve merges are kept, with null where nothing could be compared", () => {
  const view = openedView();
  const merged = (round: number) => ({
    type: "roundMerged" as const,
    ...{ round, bytesPerMiner: 1, mergeMs: 1, draws: "" },
    stages: [
      { stage: 0 as never, parameters: "a", replicas: 2, agree: true },
      { stage: 1 as never, parameters: "b", replicas: 2, agree: false },
      { stage: 2 as never, parameters: "c", replicas: 1, agree: true },
    ],
  });
  for (let round = 1; round <= 20; round++) foldAt(view, merged(round), round);
  assertEquals(view.agreement.map(({ round }) => round), Array.from({ length: 12 }, (_, i) => 9 + i));
  assertEquals(view.agreement.at(-1)!.stages, [true, false, null]);
});

Deno.test("View: what each validator checked stays while it is known, also over a new process", () => {
  const view = openedView();
  for (const { record, atMs } of sampleRun(31)) foldAt(view, record, atMs);
  const expected = { passed: 2, failed: 1, evaluated: 3, lastFailed: { round: 3, miner: sampleMiners[4]! } };
  const { lastAtMs: _, lastLoss, ...checks } = view.nodes[sampleValidator]!.checks!;
  assertEquals([checks, lastLoss?.round], [expected, 3]);
  foldAt(view, { type: "evaluated", round: 4, validator: sampleValidator, loss: NaN, tokens: 1 }, 1);
  foldAt(view, { type: "evaluated", round: 4, validator: nodeId("5Stranger"), loss: 1, tokens: 1 }, 1);
  const nodes = [{ node: sampleValidator, role: "validator", stage: null, isReady: true }] as const;
  foldAt(view, { type: "takenUp", step: 3, round: 1, nodes }, 2);
  const kept = view.nodes[sampleValidator]!.checks!;
  assertEquals([kept.evaluated, kept.lastLoss, view.nodes[nodeId("5Stranger")]], [
    4,
    { round: 4, loss: null },
    undefined,
  ]);
  foldAt(view, { type: "nodeJoined", node: sampleValidator, role: "validator", adapter: "" }, 3);
  assertEquals(view.nodes[sampleValidator]!.checks, kept);
});
