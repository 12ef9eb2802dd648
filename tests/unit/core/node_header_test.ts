/** The bound of what nodes say: whatever a run of any size has an honest node send fits, and little more does. */

import { assert } from "@std/assert";
import type { RunConfig } from "../../../core/config/config.ts";
import type { KnobPath, KnobValue } from "../../../core/config/knob.ts";
import { resolveConfig } from "../../../core/settings/parse.ts";
import { type SizeName, sizeNames } from "../../../core/config/size.ts";
import { blobHash, microbatchId, stageIndex, taskId } from "../../../core/ids.ts";
import { sliceLayout } from "../../../core/update/butterfly.ts";
import { modelParameters } from "../../../core/model/shape.ts";
import type { NodeMessage } from "../../../core/protocol/message.ts";
import { largestNodeHeader } from "../../../net/node_header.ts";
import { netLimits } from "../../../net/limits.ts";
import { decodeMsgpack, encodeMsgpack } from "../../../net/messages/msgpack.ts";
import { nodeSamples } from "../../support/net/message_vectors.ts";

const ref = { hash: blobHash("ab".repeat(32)), bytes: Number.MAX_SAFE_INTEGER };
const fault = { code: "malformedMessage", detail: "無".repeat(1024) } as const;

function largest(config: RunConfig): NodeMessage[] {
  const { microbatchesPerStep, sequencesPerMicrobatch } = config.train;
  const length = 64 * Math.ceil(modelParameters(config.model) / 64);
  const counts = [1, 2, 5, 22, 23, 128].map((contributors) => sliceLayout({ length, contributors }).length);
  const task = (index: number) =>
    taskId({ microbatch: microbatchId(1e15 + index), stage: stageIndex(63), direction: "turnaround", attempt: 4e9 });
  const tasks = Array.from({ length: microbatchesPerStep }, (_, index) => task(index));
  const losses = Array.from({ length: sequencesPerMicrobatch }, (_, index) => index + 0.1);
  return [
    ...Object.values(nodeSamples),
    {
      ...{ type: "payloadCommitted", round: 1e9, slices: Array.from({ length: Math.max(...counts) }, () => ref) },
      ...{ payload: "ef".repeat(32), head: "ab".repeat(32), signature: "cd".repeat(64) },
    },
    {
      type: "join",
      role: "miner",
      adapter: "無".repeat(128),
      previousStage: stageIndex(63),
      holding: { assignment: 1e9, round: 1e9, step: 1e9, tasks },
      listens: `http://${"a".repeat(240)}`,
    },
    { type: "taskDone", task: task(0), losses, computeMs: 0.1 },
    { type: "mergeFailed", round: 1e9, fault },
    { type: "leaving", reason: fault.detail },
  ];
}

function configOf(size: SizeName, overrides: Partial<Record<KnobPath, KnobValue>> = {}): RunConfig {
  const config = resolveConfig({ size, overrides });
  assert(config.ok, size);
  return config.config;
}

Deno.test("Node headers: the largest honest messages fit the bound, for every size and the largest steps", () => {
  const extremes = [{ "train.microbatchesPerStep": 16_384 }, { "train.sequencesPerMicrobatch": 1024 }];
  const configs = [...sizeNames.map((size) => configOf(size)), ...extremes.map((knobs) => configOf("toy", knobs))];
  for (const config of configs) {
    const { nodeHeaderBytes: maxBytes, nodeHeaderValues: maxValues, headerDepth: maxDepth } = netLimits(config);
    for (const message of largest(config)) {
      const read = decodeMsgpack(encodeMsgpack(message), { maxBytes, maxDepth, maxValues });
      assert(read.ok, `${config.size}: ${message.type} ${read.ok ? "" : read.fault.detail}`);
    }
  }
});

Deno.test("Node headers: in runs of the usual sizes they are kilobytes", () => {
  for (const size of sizeNames) {
    const { bytes, values } = largestNodeHeader(configOf(size));
    assert(bytes <= 256 * 1024 && values <= 16_384, `${size}: ${bytes} bytes, ${values} values`);
  }
});
