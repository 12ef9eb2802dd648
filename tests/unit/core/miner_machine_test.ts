/** The miner's machine, where no swarm of honest machines leads it. */

import { assertEquals, assertStringIncludes } from "@std/assert";
import { blobHash, type BlobRef, microbatchId, stageIndex, taskId } from "../../../core/ids.ts";
import type { MinerEffect } from "../../../core/miner/event.ts";
import { miner } from "../../../core/miner/machine.ts";
import { openMiner } from "../../../core/miner/state.ts";
import type { HubMessage } from "../../../core/protocol/message.ts";
import { tinyConfig } from "../../support/tiny_model.ts";

const ref = (letter: string): BlobRef => ({ hash: blobHash(letter.repeat(64)), bytes: 64 });

Deno.test("Miner: it leaves rather than take a step with another gradient than the one that was counted", () => {
  const state = openMiner({ adapter: "none", previousStage: null });
  const stage = stageIndex(0);
  const hear = (message: HubMessage, segments: BlobRef[] = []): MinerEffect[] =>
    miner.step(state, { type: "messageReceived", message, segments }, 0);
  const finish = (
    effects: MinerEffect[],
    result: Extract<Parameters<typeof miner.step>[1], { type: "workDone" }>["result"],
  ) => {
    const work = effects.find((effect) => effect.type === "perform");
    return work === undefined ? [] : miner.step(state, { type: "workDone", job: work.job, result }, 0);
  };
  hear({ type: "welcome", config: tinyConfig(), layersOfStages: [1], isKept: false });
  const source = { type: "initial" } as const;
  finish(hear({ type: "assign", assignment: 1, stage, round: 0, source, peers: [] }), {
    type: "loadStage",
    parameters: ref("a"),
    localSteps: 0,
  });
  const task = taskId({ microbatch: microbatchId(0), stage, direction: "backward", attempt: 0 });
  finish(
    hear({ type: "runTask", task, microbatch: microbatchId(0), stage, direction: "backward", step: 0 }, [
      ref("b"),
      ref("c"),
    ]),
    { type: "runTask", output: null, losses: null, computeMs: 1 },
  );
  const effects = hear({ type: "applyStep", step: 0, tasks: 2, learningRate: 1e-3, clipFactor: 1, shows: false });
  assertEquals(effects.map((effect) => effect.type === "send" ? effect.message.type : effect.type), [
    "leaving",
    "record",
    "finish",
  ]);
  const [leaving] = effects;
  assertStringIncludes(JSON.stringify(leaving), "must count the 1 tasks of the gradient: its header counts 2");
});
