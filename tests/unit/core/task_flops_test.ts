/** What a task is worth, against the products that its stage computes. */

import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { resolveConfig } from "../../../core/settings/parse.ts";
import { sizeNames } from "../../../core/config/size.ts";
import { isSideTable } from "../../../core/model/side.ts";
import { embeddingName, parameterTable, type StageSpec, stageSpecs } from "../../../core/model/spec.ts";
import { splitLayers } from "../../../core/model/stages.ts";
import { forwardUnits, taskUnits } from "../../../core/model/task_flops.ts";

function stagesOf(size: string, overrides: Record<string, unknown> = {}): StageSpec[] {
  const result = resolveConfig({ size, overrides });
  assert(result.ok, result.ok ? "" : result.problems.map(({ text }) => text).join("\n"));
  return stageSpecs(result.config, splitLayers(result.config));
}

/** Multiply-adds per token: every matrix but those of which a row is copied once, and two products with the keys that a token sees on average. */
function productsOf(stage: StageSpec): number {
  const { contextLength, width } = stage.model;
  const matrices = parameterTable(stage).tensors.filter(({ name, shape }) =>
    shape.length === 2 && name !== embeddingName && !isSideTable(name)
  );
  const attention = stage.layerCount * width * (contextLength + 1);
  return matrices.reduce((sum, { shape: [rows, columns] }) => sum + rows! * columns!, attention);
}

Deno.test("Task FLOPs: at every size, units are in proportion to the products of a stage's forward, one for the mean stage", () => {
  for (const size of sizeNames) {
    const stages = stagesOf(size);
    const products = stages.map(productsOf);
    const mean = products.reduce((a, b) => a + b) / products.length;
    forwardUnits(stages).forEach((units, stage) => {
      assertAlmostEquals(units / (products[stage]! / mean), 1, 2e-3, `${size}, stage ${stage}`); // the embedding copies a row
    });
  }
});

Deno.test("Task FLOPs: a backward is worth two forwards, a turnaround both, whether the miner repeats the forward or not", () => {
  const units = forwardUnits(stagesOf("tiny"));
  for (const [stage, forward] of units.entries()) {
    const of = (direction: "forward" | "backward" | "turnaround") => taskUnits(units, { stage, direction });
    assertEquals([of("forward"), of("backward"), of("turnaround")], [forward, 2 * forward, 3 * forward]);
  }
});

Deno.test("Task FLOPs: sums of units are exact in any order, so every machine adds them to the same bits", () => {
  const units = forwardUnits(stagesOf("small"));
  const tasks = units.flatMap((_, stage) => [1, 2, 3].map((times) => times * units[stage]!));
  const terms = Array.from({ length: 30_000 }, (_, i) => tasks[i % tasks.length]!);
  const ascending = terms.toSorted((a, b) => a - b).reduce((sum, each) => sum + each, 0);
  const given = terms.reduce((sum, each) => sum + each, 0);
  assertEquals(ascending, given);
  assertEquals(terms.reduce((left, each) => left - each, given), 0);
});

Deno.test("Task FLOPs: a stage that costs next to nothing beside another is still paid", () => {
  const [head, tail] = forwardUnits(
    stagesOf("toy", { "pipeline.stages": 2, "model.layers": 2, "model.vocabSize": 65_536 }),
  );
  assert(head! > 0 && head! < 0.02 && tail! > 1.9, `${head} and ${tail}`);
  assertAlmostEquals(head! + tail!, 2, 1e-4);
});
