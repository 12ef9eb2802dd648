/**
 * A lost stage from its neighbours: layers are weighted means of the nearest ones, layers without a counterpart start
 * from their initial values.
 */

import { assert, assertEquals } from "@std/assert";
import { restoreStage } from "../../../core/update/restore.ts";
import { initialParameters } from "../../../core/model/initial.ts";
import { splitLayers } from "../../../core/model/stages.ts";
import { parameterTable, stageSpecs } from "../../../core/model/spec.ts";
import { tinyConfig } from "../../support/tiny_model.ts";

const config = tinyConfig({ model: { width: 32, layers: 3 }, pipeline: { codec: "iota", stages: 3 } });
const [head, middle, tail] = stageSpecs(config, splitLayers(config)).map((spec) => parameterTable(spec)) as [
  ReturnType<typeof parameterTable>,
  ReturnType<typeof parameterTable>,
  ReturnType<typeof parameterTable>,
];
const filled = (table: typeof head, value: number) => new Float32Array(table.length).fill(value);

Deno.test("Restore: a layer between two is their mean, weighted by squared gradient norms; boundaries are initialised", () => {
  const neighbours = [
    { table: head, parameters: filled(head, 1), weight: 3 },
    { table: tail, parameters: filled(tail, 5), weight: 1 },
  ];
  const restored = restoreStage({ table: middle, seed: config.seed, neighbours });
  const initial = initialParameters(middle, config.seed);
  for (const { name, offset, size } of middle.tensors) {
    const values = restored.subarray(offset, offset + size);
    if (name.includes(".layers.")) assert(values.every((value) => value === 2), name);
    else assertEquals(values, initial.subarray(offset, offset + size), name);
  }
});

Deno.test("Restore: an end of the pipeline takes its one neighbour; without gradients both count the same", () => {
  const fromOne = restoreStage({
    table: head,
    seed: 7,
    neighbours: [{ table: middle, parameters: filled(middle, 3), weight: 0 }],
  });
  const layer = head.tensors.find(({ name }) => name.includes("q_proj"))!;
  const embedding = head.tensors.find(({ name }) => name.includes("embed"))!;
  assertEquals(fromOne[layer.offset], 3);
  assertEquals(fromOne[embedding.offset], initialParameters(head, 7)[embedding.offset]);
  const even = restoreStage({
    table: middle,
    seed: 7,
    neighbours: [
      { table: head, parameters: filled(head, 1), weight: 0 },
      { table: tail, parameters: filled(tail, 2), weight: 0 },
    ],
  });
  assertEquals(even[middle.tensors.find(({ name }) => name.includes("q_proj"))!.offset], 1.5);
});
