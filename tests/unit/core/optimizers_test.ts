/** Optimizers as others know them: names and lengths of their state, for every kind of stage. */

import { assert, assertEquals, assertThrows } from "@std/assert";
import { parameterTable, stageSpecs } from "../../../core/model/spec.ts";
import { longestAdamStep } from "../../../core/train/adam_bound.ts";
import { stateLength, wholeVector } from "../../../core/train/optimizer.ts";
import { optimizerOf, optimizers } from "../../../core/train/optimizers.ts";
import { VectorTable } from "../../../gpu/vector_table.ts";
import { tinyConfig } from "../../support/tiny_model.ts";

const config = tinyConfig({ pipeline: { codec: "iota" } });
const tables = stageSpecs(config, [1, 1, 1]).map(parameterTable);

Deno.test("Optimizers: state vectors have names of their own and cover whole blocks of the stage, no value twice", () => {
  for (const optimizer of Object.values(optimizers)) {
    for (const table of tables) {
      const vectors = optimizer.stateVectors(table);
      assertEquals(new Set(vectors.map(({ name }) => name)).size, vectors.length);
      assert(vectors.every(({ name }) => name !== "parameters"));
      for (const { covers } of vectors) {
        let end = 0;
        for (const { offset, size } of covers) {
          assert(offset >= end && offset % 64 === 0 && size % 64 === 0 && size > 0);
          end = offset + size;
        }
        assert(end <= table.length);
      }
    }
  }
});

Deno.test("AdamW: two moments for each value, and the bound of its step", () => {
  const [table] = tables;
  const kept = optimizers.adamw.stateVectors(table!).map((vector) => [vector.name, stateLength(vector)]);
  assertEquals(kept, [["firstMoments", table!.length], ["secondMoments", table!.length]]);
  assertEquals(optimizers.adamw.longestStep(config.train), longestAdamStep(config.train));
  assertEquals(optimizerOf(config), "adamw");
});

Deno.test("State vectors: a length is the sum of what is covered", () => {
  const covers = [{ offset: 128, size: 64 }, { offset: 320, size: 192 }];
  assertEquals(stateLength({ name: "momentum", covers }), 256);
  assertEquals(stateLength({ name: "momentum", covers: wholeVector(tables[1]!) }), tables[1]!.length);
});

Deno.test("Vector table: a state must have all vectors of its optimizer, each of its length, and no other", () => {
  const { length } = tables[0]!;
  const table = new VectorTable(tables[0]!);
  const [firstMoments, secondMoments] = [new Float32Array(length), new Float32Array(length)];
  const names = table.valuesOf({ vectors: { secondMoments, firstMoments }, steps: 1 }).map(([name]) => name);
  assertEquals(names, ["firstMoments", "secondMoments"], "in the optimizer's order");
  const refuse = (vectors: Record<string, Float32Array>, text: string) =>
    assertThrows(() => table.valuesOf({ vectors, steps: 1 }), Error, text);
  refuse({ firstMoments }, "firstMoments");
  refuse({ firstMoments, momentum: secondMoments }, "secondMoments");
  refuse({ firstMoments, secondMoments: new Float32Array(64) }, "64");
  refuse({ firstMoments, secondMoments, momentum: firstMoments }, "momentum");
  assertThrows(() => table.lengthOf("momentum"), Error, "momentum");
});
