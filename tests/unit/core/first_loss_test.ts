/** What is known of a run's loss before its first step. */

import { assertEquals } from "@std/assert";
import { blobHash } from "../../../core/ids.ts";
import { parameterTable } from "../../../core/model/spec.ts";
import { vectorBytes } from "../../../core/model/vector_bytes.ts";
import { trainedLoss } from "../../../core/orchestrator/audit/held_out/evaluated_rounds.ts";
import { openOrchestrator } from "../../../core/orchestrator/state.ts";
import { specsOf, tinyConfig } from "../../support/tiny_model.ts";

Deno.test("First loss: random parameters guess uniformly, and those of a model that the run starts from are not known", () => {
  const config = tinyConfig();
  const stages = specsOf(config);
  const stageFloats = stages.map((spec) => parameterTable(spec).length);
  const options = {
    ...{ config, stages, stageFloats, layersOfStages: stages.map(({ layerCount }) => layerCount) },
    ...{ secret: new Uint8Array(32), nowMs: 0 },
  };
  assertEquals(trainedLoss(openOrchestrator(options), 0), Math.log(config.model.vocabSize));
  const stored = stageFloats.map((floats, i) => ({
    type: "blobs" as const,
    parameters: { hash: blobHash(`${i}`.repeat(64)), bytes: vectorBytes(floats) },
    momentum: null,
  }));
  const state = openOrchestrator({ ...options, from: { step: 0, sources: { round: 0, stages: stored } } });
  assertEquals([trainedLoss(state, 0), state.round, state.step], [null, 0, 0]);
});
