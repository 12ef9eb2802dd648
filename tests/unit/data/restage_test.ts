/** A checkpoint cut into other stages: the same tensors, back to the same bytes. */

import { assert, assertEquals } from "@std/assert";
import {
  latestCheckpoint,
  readMomentum,
  readStage,
  writeCheckpoint,
} from "../../../cli/model/checkpoint/checkpoint.ts";
import { canRestage, restage } from "../../../cli/model/checkpoint/restage.ts";
import type { RunConfig } from "../../../core/config/config.ts";
import { initialParameters } from "../../../core/model/initial.ts";
import { parameterTable, stageSpecs } from "../../../core/model/spec.ts";
import { splitLayers } from "../../../core/model/stages.ts";
import { withMemoryFolder } from "../../support/scratch_folder.ts";
import { tinyConfig } from "../../support/tiny_model.ts";

const inStages = (stages: number, codec: "none" | "iota" = "none"): RunConfig =>
  tinyConfig({ model: { layers: 5 }, pipeline: { stages, codec } });

const tablesOf = (config: RunConfig) => stageSpecs(config, splitLayers(config)).map(parameterTable);

async function tensorsIn(folder: string, config: RunConfig): Promise<Map<string, Float32Array>> {
  const tensors = new Map<string, Float32Array>();
  for (const [stage, table] of tablesOf(config).entries()) {
    const parameters = await readStage({ folder, stage, table });
    const momentum = (await readMomentum({ folder, stage, table }))!;
    for (const { name, offset, size } of table.tensors) {
      tensors.set(name, parameters.slice(offset, offset + size));
      tensors.set(`${name}, momentum`, momentum.slice(offset, offset + size));
    }
  }
  return tensors;
}

const sorted = (tensors: Map<string, Float32Array>) => [...tensors].toSorted(([a], [b]) => (a < b ? -1 : 1));

Deno.test("Restage: any number of stages holds the same tensors, and the way back the same bytes", async () => {
  await withMemoryFolder(async (root) => {
    const config = inStages(3);
    const stages = tablesOf(config).map((table, stage) => {
      const parameters = initialParameters(table, stage);
      return { table, parameters, momentum: parameters.map((value) => value / 2) };
    });
    const state = {
      runId: "r",
      round: 4,
      step: 8,
      microbatch: 32,
      tokenizerHash: "a1".repeat(32),
      datasetHash: "b2".repeat(32),
    };
    await writeCheckpoint({ folder: root, state: { ...state, config }, stages });
    const newest = async () => (await latestCheckpoint(root, (text) => assert(false, text)))!;
    const first = await newest();
    const before = await tensorsIn(first.folder, config);
    for (const count of [1, 5, 2, 3]) {
      await restage(await newest(), { checkpoints: root, config: inStages(count), warn: () => {} });
      const { folder, manifest } = await newest();
      assertEquals(manifest.config.pipeline.stages, count);
      assertEquals([manifest.step, manifest.microbatch, manifest.files.length], [8, 32, 2 * count]);
      assertEquals(sorted(await tensorsIn(folder, manifest.config)), sorted(before));
    }
    const { manifest } = await newest();
    assertEquals(manifest.files, first.manifest.files);
    assertEquals(manifest.parameterHashes, first.manifest.parameterHashes);
  });
});

Deno.test("Restage: compressed boundaries belong to their place", () => {
  assertEquals(canRestage(inStages(3), inStages(2)), true);
  assertEquals(canRestage(inStages(3, "iota"), inStages(2, "iota")), false);
  assertEquals(canRestage(inStages(1, "iota"), inStages(2, "none")), true);
});
