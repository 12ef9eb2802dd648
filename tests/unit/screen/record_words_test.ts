/** Sentences of records that depend on what happened: a return, nothing to compare, one of a thing. */

import { assertEquals, assertMatch } from "@std/assert";
import { microbatchId, stageIndex, taskId } from "../../../core/ids.ts";
import { joinedAnew, type RunRecord } from "../../../core/protocol/record.ts";
import type { ValidatorRecord } from "../../../core/validator/event.ts";
import { createPaint } from "../../../cli/terminal/text/paint.ts";
import { minerLine, validatorLine } from "../../../cli/node/node_lines.ts";
import { AuditTally } from "../../../cli/observe/screen/record_words.ts";
import { shortAddress } from "../../../cli/terminal/text/format.ts";
import { frame } from "../../../cli/observe/screen/panels.ts";
import { createPlainLines } from "../../../cli/observe/screen/plain.ts";
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
  const lineOf = (record: ValidatorRecord) => validatorLine(record, new AuditTally());
  assertEquals(lineOf({ type: "scored", round: 1, miners: 1, failed: 0 }), "round 1: 1 miner scored");
  assertEquals(
    lineOf({ type: "scored", round: 1, miners: 2, failed: 1 }),
    "round 1: 2 miners scored, 1 of them zero",
  );
  assertMatch(minerLine({ type: "kept", stage: stageIndex(0), round: 1, tasks: 1 }) ?? "", /gradients of 1 task$/);
});

const audited = taskId({ microbatch: microbatchId(7), stage: stageIndex(1), direction: "forward", attempt: 0 });

const verdict = (miner: number, error: number) => ({
  ...{ type: "verdict" as const, round: 3, validator: sampleMiners[0]!, miner: sampleMiners[miner]! },
  ...{ stage: stageIndex(1), task: audited, passed: error <= 0.05, innovationError: error },
  ...{ equalShare: 1, lossError: null, tolerance: 0.05 },
});

Deno.test("Plain lines: audits that pass are one line a round, a failed one is a line at once", () => {
  const view = openedView();
  const plain = createPlainLines();
  const spoken = (record: RunRecord) => plain.of(record, view, 0).map((line) => line.trim().replace(/^\S+ +/, ""));
  const merged: RunRecord = {
    ...{ type: "roundMerged", round: 4, bytesPerMiner: 1024, mergeMs: 900, draws: "", stages: [] },
  };
  for (const record of [verdict(1, 0), verdict(1, 0.002), verdict(2, 0)]) assertEquals(spoken(record), []);
  const [failed, ...rest] = spoken(verdict(2, 0.9));
  assertMatch(failed!, /^verdict {2}FAILED {2}.* task 7\.1\.forward\.0: innovation error 0\.9 of 0\.05 allowed/);
  assertEquals(rest, []);
  assertEquals(spoken(merged).map((line) => line.split(",")[0]), [
    "audits   3 audits of 2 miners passed",
    "merge    round 3 merged",
  ]);
  assertEquals(spoken(merged).length, 1, "nothing was audited since");
  spoken(verdict(1, 0));
  const ended: RunRecord = { type: "runFinished", step: 9, finished: true, reason: "all steps" };
  assertEquals(spoken(ended)[0], "audits   1 audit of 1 miner passed, innovation error 0");
});

Deno.test("Node lines: a validator says failed audits at once, passed ones with the round's scores", () => {
  const passed = new AuditTally();
  assertEquals(validatorLine(verdict(1, 0.002), passed), null);
  assertMatch(validatorLine(verdict(1, 0.9), passed) ?? "", /^round 3: stage 1 .* FAILED on 7\.1\.forward\.0/);
  const scored: ValidatorRecord = { type: "scored", round: 3, miners: 6, failed: 0 };
  assertEquals(
    validatorLine(scored, passed),
    "round 3: 6 miners scored; 1 audit of 1 miner passed, innovation error at most 0.002",
  );
  assertEquals(validatorLine(scored, passed), "round 3: 6 miners scored");
});
