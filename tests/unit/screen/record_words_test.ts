/** Sentences of records that depend on what happened: a return, nothing to compare, one of a thing. */

import { assertEquals, assertMatch } from "@std/assert";
import { stageIndex } from "../../../core/ids.ts";
import { joinedAnew, type RunRecord } from "../../../core/protocol/record.ts";
import { createPaint } from "../../../cli/output/paint.ts";
import { minerLine, validatorLine } from "../../../cli/node/node_lines.ts";
import { shortAddress } from "../../../cli/screen/format.ts";
import { frame } from "../../../cli/screen/panels.ts";
import { createPlainLines } from "../../../cli/screen/plain.ts";
import { foldAt, openedView, sampleMiners, sampleRun } from "../../support/sample_run.ts";

Deno.test("Plain lines: a node that joined again is back, and one replica has no hashes to compare", () => {
  const view = openedView();
  for (const { record, atMs } of sampleRun(5)) foldAt(view, record, atMs);
  const lineOf = (record: RunRecord) => createPlainLines().of(record, view, 0)[0]?.trim().replace(/^\S+\s+/, "") ?? "";
  const node = sampleMiners[0]!;
  const lost = (reason: string, tasksReissued: number): RunRecord => {
    return { type: "nodeLost", node, reason, tasksReissued, tasksKept: 0 };
  };
  assertEquals(lineOf(lost(joinedAnew, 0)), `back     ${shortAddress(node)}: it joined anew`);
  assertEquals(lineOf(lost("silent", 1)), `lost     ${shortAddress(node)}: silent; 1 task handed out again`);
  const merged = (...replicas: number[]): RunRecord => ({
    ...{ type: "roundMerged", round: 4, bytesPerMiner: 1024, mergeMs: 900, draws: "" },
    stages: replicas.map((count, i) => ({ stage: stageIndex(i), parameters: "", replicas: count, agree: true })),
  });
  assertEquals(lineOf(merged(1, 1)), "merge    round 3 merged, 1.0 KiB sent by a miner, 900 ms");
  assertEquals(
    lineOf(merged(2, 1)),
    "merge    round 3 merged, hashes equal on 1 stage, 1.0 KiB sent by a miner, 900 ms",
  );
  assertEquals(
    lineOf({ ...merged(1), waitedMs: 300 } as RunRecord),
    "merge    round 3 merged, 1.0 KiB sent by a miner, 900 ms, 300 ms of it for audits",
  );
  const panel = (record: RunRecord) => {
    foldAt(view, record, 0);
    return frame(view, { width: 100, height: 40, nowMs: 0, paint: createPaint(false) }).join("\n");
  };
  assertEquals([panel(merged(1)).includes("hashes"), panel(merged(2)).includes("hashes equal")], [false, true]);
});

Deno.test("Node lines: one of a thing is not many", () => {
  assertEquals(validatorLine({ type: "scored", round: 1, miners: 1, failed: 0 }), "round 1: 1 miner scored");
  assertEquals(
    validatorLine({ type: "scored", round: 1, miners: 2, failed: 1 }),
    "round 1: 2 miners scored, 1 of them zero",
  );
  assertMatch(minerLine({ type: "kept", stage: stageIndex(0), round: 1, tasks: 1 }) ?? "", /gradients of 1 task$/);
});
