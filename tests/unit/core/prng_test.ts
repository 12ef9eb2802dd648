/**
 * The generator against the published vectors, the streams drawn from it, and the start parameters made with it, whose bits
 * are frozen: miners of different versions must start from the same model.
 */

import { assert, assertEquals, assertNotEquals, assertThrows } from "@std/assert";
import { initialParameters } from "../../../core/model/initial.ts";
import type { ParameterTable } from "../../../core/model/spec.ts";
import {
  type Counter,
  type Key,
  keyOf,
  nextBelow,
  nextUint32,
  openStream,
  philox,
  shuffle,
} from "../../../core/prng.ts";

function block(counter: Counter, key: Key): number[] {
  const out = new Uint32Array(4);
  philox(counter, key, out);
  return [...out];
}

Deno.test("Philox: known answers of the Random123 distribution (philox4x32, 10 rounds)", () => {
  assertEquals(block([0, 0, 0, 0], [0, 0]), [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8]);
  const ones = 0xffffffff;
  assertEquals(block([ones, ones, ones, ones], [ones, ones]), [0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd]);
  assertEquals(
    block([0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344], [0xa4093822, 0x299f31d0]), // digits of pi
    [0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1],
  );
});

Deno.test("Stream: words are the blocks in order, and the state survives JSON", () => {
  const key = keyOf(7, "wiring");
  const stream = openStream(key);
  const words = Array.from({ length: 9 }, () => nextUint32(stream));
  assertEquals(words.slice(0, 4), block([0, 0, 0, 0], key));
  assertEquals(words.slice(4, 8), block([1, 0, 0, 0], key));
  const revived = JSON.parse(JSON.stringify(stream));
  assertEquals(nextUint32(revived), nextUint32(stream));
});

Deno.test("Stream: nextBelow is in range and even", () => {
  const stream = openStream(keyOf(1, "even"));
  const counts = new Array(6).fill(0);
  for (let i = 0; i < 6000; i++) counts[nextBelow(stream, 6)] += 1;
  // Each count is binomial(6000, 1/6): mean 1000, standard deviation 29.
  for (const count of counts) assert(Math.abs(count - 1000) < 150, `uneven: ${counts}`);
  assertEquals(nextBelow(stream, 1), 0);
  assertThrows(() => nextBelow(stream, 0));
});

Deno.test("Stream: shuffle keeps every element and depends on the key", () => {
  const sorted = Array.from({ length: 50 }, (_, i) => i);
  const one = shuffle(openStream(keyOf(1, "deck")), [...sorted]);
  const two = shuffle(openStream(keyOf(2, "deck")), [...sorted]);
  assertNotEquals(one, two);
  assertEquals([...one].sort((a, b) => a - b), sorted);
});

Deno.test("keyOf: kind, length and order of labels matter, and so does the seed", () => {
  const keys = [
    keyOf(1),
    keyOf(2),
    keyOf(1, ""),
    keyOf(1, 0),
    keyOf(1, "1"),
    keyOf(1, 1),
    keyOf(1, -1),
    keyOf(1, 2 ** 32),
    keyOf(1, "ab", "c"),
    keyOf(1, "a", "bc"),
    keyOf(1, "abc"),
    keyOf(1, "c", "ab"),
  ];
  assertEquals(new Set(keys.map((key) => key.join())).size, keys.length);
  assertEquals(keyOf(1, "a", 3), keyOf(1, "a", 3));
});

function table(tensors: { name: string; size: number; std: number | null }[]): ParameterTable {
  let offset = 0;
  const laid = tensors.map(({ name, size, std }) => {
    const initial = std === null ? { type: "ones" } as const : { type: "normal", std } as const;
    const tensor = { name, shape: [size], size, offset, initial };
    offset += Math.ceil(size / 64) * 64;
    return tensor;
  });
  return { tensors: laid, decayLength: offset, length: offset };
}

Deno.test("initialParameters: a value depends on seed, name and index, not on the place in the table", () => {
  const alone = initialParameters(table([{ name: "b", size: 100, std: 1 }]), 3);
  const both = initialParameters(table([{ name: "a", size: 64, std: 2 }, { name: "b", size: 100, std: 1 }]), 3);
  assertEquals(both.slice(64), alone);
  assertEquals([...alone.slice(100)], new Array(28).fill(0));
  assertNotEquals(initialParameters(table([{ name: "b", size: 100, std: 1 }]), 4), alone);
});

Deno.test("initialParameters: frozen values (every miner of every version must agree)", () => {
  const made = initialParameters(
    table([{ name: "model.norm.weight", size: 4, std: null }, {
      name: "lm_head.weight",
      size: 4,
      std: 0.02,
    }]),
    1234,
  );
  assertEquals([...made.slice(0, 4)], [1, 1, 1, 1]);
  const bits = [...new Uint32Array(made.buffer, 64 * 4, 4)].map((word) => word.toString(16));
  assertEquals(bits, ["3c6399b8", "3ccb0129", "3c155095", "bb87817a"]);
});

Deno.test("initialParameters: mean, deviation and tails of a normal", () => {
  const count = 100_000;
  const values = initialParameters(table([{ name: "w", size: count, std: 0.5 }]), 9).subarray(0, count);
  let sum = 0, squares = 0, beyondTwo = 0;
  for (const value of values) {
    sum += value;
    squares += value * value;
    if (Math.abs(value) > 1) beyondTwo += 1;
  }
  assert(Math.abs(sum / count) < 0.008, `mean ${sum / count}`);
  assert(Math.abs(Math.sqrt(squares / count) - 0.5) < 0.005, `std ${Math.sqrt(squares / count)}`);
  assert(Math.abs(beyondTwo / count - 0.0455) < 0.004, `share beyond two sigma ${beyondTwo / count}`);
});
