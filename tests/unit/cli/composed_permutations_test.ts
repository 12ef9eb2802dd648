/** The task that needs depth: targets are what its operations make of its states, and nothing is left to chance. */

import { assert, assertEquals, assertNotEquals } from "@std/assert";
import { composedPermutations, composition, operationsOf } from "../../../cli/lab/composed_permutations.ts";
import { microbatchId } from "../../../core/ids.ts";
import { tinyConfig } from "../../support/tiny_model.ts";

const { states, operations, hops } = composition;
const config = tinyConfig({ model: { contextLength: 64 }, train: { sequencesPerMicrobatch: 3 } });
const source = composedPermutations(config);

Deno.test("Composed permutations: a run has sixteen operations, each a bijection of its own, and another seed has others", () => {
  const own = operationsOf(1);
  assertEquals([own.length, new Set(own.map(String)).size], [16, 16]);
  const all = Array.from({ length: states }, (_, state) => state);
  for (const operation of own) assertEquals(operation.toSorted((a, b) => a - b), all);
  assertEquals(operationsOf(1), own);
  assertNotEquals(operationsOf(2), own);
});

Deno.test("Composed permutations: a chain is a state and three operations, and each target is the state by then", () => {
  const { inputs, targets } = source.tokensOf(microbatchId(5));
  assertEquals([inputs.length, targets.length], [3 * 64, 3 * 64]);
  const tables = operationsOf(config.seed);
  for (let first = 0; first < inputs.length; first += hops + 1) {
    const [start, ...given] = inputs.subarray(first, first + hops + 1);
    assert(start! < states, `a chain begins with a state: ${start}`);
    const expected = [start!];
    for (const token of given) {
      assert(token >= states && token < states + operations, `an operation follows: ${token}`);
      expected.push(tables[token - states]![expected.at(-1)!]!);
    }
    assertEquals([...targets.subarray(first, first + hops + 1)], expected);
  }
});

Deno.test("Composed permutations: equal places have equal sequences, and none is both trained on and held out", () => {
  assertEquals(composedPermutations(config).tokensOf(microbatchId(7)), source.tokensOf(microbatchId(7)));
  const sequencesOf = ({ inputs }: { inputs: Uint32Array }) =>
    Array.from({ length: inputs.length / 64 }, (_, i) => inputs.subarray(64 * i, 64 * (i + 1)).join());
  const trained = Array.from({ length: 50 }, (_, i) => sequencesOf(source.tokensOf(microbatchId(i)))).flat();
  const heldOut = sequencesOf(source.heldOut(50));
  assertEquals([trained.length, heldOut.length], [150, 50]);
  assertEquals(new Set([...trained, ...heldOut]).size, 200);
});

Deno.test("Composed permutations: states are as frequent as each other, so that a guess cannot beat ln 16", () => {
  const counts = new Array<number>(states).fill(0);
  const { targets } = source.heldOut(200);
  for (const target of targets) counts[target]! += 1;
  const expected = targets.length / states; // 800
  for (const count of counts) assert(Math.abs(count - expected) < 5 * Math.sqrt(expected), counts.join());
});
