/** Optimizers as others know them: names and lengths of their state, for every kind of stage. */

import { assert, assertAlmostEquals, assertEquals, assertThrows } from "@std/assert";
import { resolveConfig } from "../../../core/settings/parse.ts";
import { sizeNames } from "../../../core/config/size.ts";
import { parameterTable, stageSpecs } from "../../../core/model/spec.ts";
import { longestAdamStep } from "../../../core/train/adam_bound.ts";
import { splitLayers } from "../../../core/model/stages.ts";
import { muonMatrices } from "../../../core/train/muon.ts";
import { stateLength, type StateVector, wholeVector } from "../../../core/train/optimizer.ts";
import { optimizerNames } from "../../../core/config/optimizer_names.ts";
import { optimizerOf, optimizers } from "../../../core/train/optimizers.ts";
import { VectorTable } from "../../../gpu/vector_table.ts";
import { steppedByReference } from "../../support/optimizer_steps.ts";
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
  const longest = longestAdamStep(config.train);
  assertEquals(optimizers.adamw.longestStep(config), { value: longest, rootMeanSquare: longest });
  assertEquals(optimizerOf(config), "adamw");
});

Deno.test("Muon: momentum for the matrices of blocks and boundaries, two moments for embedding, head and gains", () => {
  for (const table of tables) {
    const isMuons = (name: string) => /\.(layers|boundary)\..*(_proj|coder)\.weight$/.test(name);
    const [momentum, first, second] = optimizers.muon.stateVectors(table);
    assertEquals([momentum!.name, first!.name, second!.name], ["momentum", "firstMoments", "secondMoments"]);
    assertEquals(first!.covers, second!.covers);
    const covers = ({ covers }: StateVector, offset: number) =>
      covers.some((range) => offset >= range.offset && offset < range.offset + range.size);
    for (const { name, offset, size } of table.tensors) {
      for (const at of [offset, offset + size - 1]) {
        assertEquals([covers(momentum!, at), covers(first!, at)], [isMuons(name), !isMuons(name)], name);
      }
    }
    assertEquals(stateLength(momentum!) + stateLength(first!), table.length, "padding included");
  }
});

Deno.test("Muon: matrices whose sides are not multiples of 4 are left to AdamW", () => {
  const initial = { type: "ones" } as const;
  const tensor = (name: string, shape: readonly number[], offset: number) => ({
    name,
    shape,
    offset,
    size: 384,
    initial,
  });
  const tensors = [tensor("a", [6, 64], 0), tensor("b", [12, 32], 384), tensor("c", [64, 6], 768)];
  const vectors = optimizers.muon.stateVectors({ tensors, decayLength: 1152, length: 1152 });
  assertEquals(vectors.map(({ covers }) => covers), [
    [{ offset: 384, size: 384 }],
    ...Array(2).fill([{ offset: 0, size: 384 }, { offset: 768, size: 384 }]),
  ]);
});

Deno.test("Muon: no step of any gradients goes beyond its bound, and singular values are near one", () => {
  const shapes = [[32, 32], [8, 64], [64, 8], [4, 16]] as const;
  for (const [rows, columns] of shapes) {
    const longest = Math.sqrt(Math.max(rows, columns));
    const draws: Record<string, (i: number) => number> = {
      noise: (i) => Math.sin(i ** 2) + Math.cos(3 * i ** 1.5),
      "one value": (i) => i === 5 ? 1e6 : 0,
      "rank one": (i) => ((i % columns) % 3 - 1) * Math.floor(i / columns),
      identity: (i) => i % columns === Math.floor(i / columns) ? 1e-3 : 0,
    };
    for (const [name, draw] of Object.entries(draws)) {
      const size = rows * columns;
      const table = {
        tensors: [{ name: "matrix", shape: [rows, columns], offset: 0, size, initial: { type: "ones" } as const }],
        ...{ decayLength: size, length: size },
      };
      const gradients = Float32Array.from({ length: size }, (_, i) => draw(i));
      const options = { ...config.train, learningRate: 1, gradientScale: 1, weightDecay: 0 };
      const { parameters } = steppedByReference({
        ...{ optimizer: "muon", table, parameters: new Float32Array(size) },
        steps: [{ options, gradients }],
      });
      const bound = optimizers.muon.longestStep(tinyConfig({ model: { width: longest ** 2, ffnWidth: 4 } }));
      const largest = parameters.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
      const rootMeanSquare = Math.sqrt(parameters.reduce((sum, value) => sum + value ** 2, 0) / size);
      const what = `${name} (${rows}, ${columns})`;
      assert(largest <= bound.value, `${what}: ${largest} of ${bound.value}`);
      assert(rootMeanSquare <= 0.605, `${what}: ${rootMeanSquare}`);
      if (name === "one value") assert(largest >= 0.55 * bound.value, `${what}: reaches ${largest} of ${bound.value}`);
      if (name === "identity") assert(rootMeanSquare >= 0.3, `${what}: ${rootMeanSquare}`);
    }
  }
});

Deno.test("Muon: the bound knows the longest side of every size's matrices, and is AdamW's where that is farther", () => {
  for (const size of sizeNames) {
    const resolved = resolveConfig({ size });
    assert(resolved.ok);
    const { config } = resolved;
    const sides = stageSpecs(config, splitLayers(config)).flatMap((spec) =>
      muonMatrices(parameterTable(spec)).flatMap(({ shape }) => shape)
    );
    const { value, rootMeanSquare } = optimizers.muon.longestStep(config);
    assertAlmostEquals(value, 0.605 * Math.sqrt(Math.max(...sides)), 1e-9, size);
    assertEquals(rootMeanSquare, longestAdamStep(config.train));
  }
});

Deno.test("Optimizers: a run's is the one of its setting, and AdamW where a configuration names none", () => {
  assertEquals(optimizerOf(tinyConfig({ train: { optimizer: "muon" } })), "muon");
  assertEquals(optimizerOf(tinyConfig({ train: { optimizer: "adamw" } })), "adamw");
  assertEquals(Object.keys(optimizers), [...optimizerNames]);
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
