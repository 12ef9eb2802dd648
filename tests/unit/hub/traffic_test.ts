/** The orchestrator's account of bytes: by node, direction and purpose, and by token at a boundary. */

import { assertEquals } from "@std/assert";
import { blobHash, microbatchId, nodeId, stageIndex, taskId } from "../../../core/ids.ts";
import type { Evaluate, RunTask, Stop } from "../../../core/protocol/message.ts";
import { bytesOf, Traffic } from "../../../cli/observe/traffic.ts";
import { tinyConfig } from "../../support/tiny_model.ts";

const [alice, bob] = [nodeId("alice"), nodeId("bob")];
const done = (direction: "forward" | "backward") => ({
  type: "taskDone" as const,
  task: taskId({ microbatch: microbatchId(1), stage: stageIndex(1), direction, attempt: 0 }),
  losses: null,
  computeMs: 1,
});

const runTask: RunTask = {
  ...{ type: "runTask", task: done("forward").task, microbatch: microbatchId(1), stage: stageIndex(1) },
  ...{ direction: "forward", step: 0 },
};
const stop: Stop = { type: "stop", finished: true, reason: "all steps are done" };
const evaluate: Evaluate = { type: "evaluate", request: 1, round: 0, sources: [], isTrial: false };

Deno.test("Traffic: bytes are booked by node, direction and purpose, and wires by token", () => {
  const config = tinyConfig();
  const traffic = new Traffic(config);
  const tokens = config.train.sequencesPerMicrobatch * config.model.contextLength;
  assertEquals([traffic.bytesPerToken("forward"), traffic.nodes.size], [null, 0]);
  const segments = [new Uint8Array(4)];
  traffic.received({ peer: alice, message: done("forward"), segments, bytes: 100 * tokens });
  traffic.received({ peer: bob, message: done("backward"), segments, bytes: 50 * tokens });
  traffic.received({ peer: bob, message: done("backward"), segments: [], bytes: 7 }); // the head's has no tensor
  traffic.sent({ node: alice, message: runTask, segments: 2, bytes: 1_000 });
  traffic.sent({ node: alice, message: stop, segments: 0, bytes: 20 });
  traffic.sent({ node: bob, message: evaluate, segments: 2, bytes: 600 }); // a validator's
  const hash = blobHash("00".repeat(32));
  traffic.moved({ node: bob, hash, way: "received", bytes: 300, blobBytes: 300 }, "merge");
  traffic.moved({ node: bob, hash, way: "sent", bytes: 4_000, blobBytes: 9_000 }, "parameters");
  assertEquals([traffic.bytesPerToken("forward"), traffic.bytesPerToken("backward")], [100, 50]);
  assertEquals(traffic.nodes.get(alice), {
    received: { wires: 100 * tokens, merge: 0, parameters: 0, control: 0 },
    sent: { wires: 1_000, merge: 0, parameters: 0, control: 20 },
  });
  const { total } = traffic;
  assertEquals(
    (["wires", "merge", "parameters", "control"] as const).map((kind) => bytesOf(total, kind)),
    [150 * tokens + 1_000, 300, 4_600, 27],
  );
  assertEquals(traffic.takeMoved(), {
    ...{ wires: 150 * tokens + 1_000, merge: 300, parameters: 4_600, control: 27 },
  });
  traffic.sent({ node: bob, message: stop, segments: 0, bytes: 5 });
  assertEquals(traffic.takeMoved(), { wires: 0, merge: 0, parameters: 0, control: 5 });
});
