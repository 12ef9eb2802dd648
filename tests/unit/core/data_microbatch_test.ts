/** Which tokens a microbatch trains on: each window once per pass, in an order that dataset, seed and pass decide. */

import { assert, assertAlmostEquals, assertEquals, assertNotEquals, assertThrows } from "@std/assert";
import { heldOutSequences, microbatchSequences, passesOver, windowsPerPass } from "../../../core/data/microbatch.ts";
import { permute } from "../../../core/data/permutation.ts";
import { unigramEntropy } from "../../../core/data/unigram.ts";
import { microbatchId } from "../../../core/ids.ts";
import { keyOf } from "../../../core/prng.ts";

const datasetHash = "ab".repeat(32);
const shape = { datasetHash, seed: 7, sequences: 4, contextLength: 16, tokens: 16 * 50 + 1 };

/** First tokens of the first `count` sequences of the run. */
function order(count: number, overrides: Partial<typeof shape> = {}): number[] {
  const request = { ...shape, ...overrides };
  const microbatches = Math.ceil(count / request.sequences);
  return Array.from(
    { length: microbatches },
    (_, i) => microbatchSequences({ ...request, microbatch: microbatchId(i) }),
  )
    .flat().slice(0, count);
}

const sorted = (values: readonly number[]) => values.toSorted((a, b) => a - b);
const range = (length: number, step = 1) => Array.from({ length }, (_, i) => i * step);

Deno.test("permute: every size has a bijection", () => {
  for (const size of [...range(130).map((i) => i + 1), 1000, 4096, 4097]) {
    const key = keyOf(size, "test");
    assertEquals(sorted(range(size).map((index) => permute({ key, size, index }))), range(size), `size ${size}`);
  }
});

Deno.test("permute: sizes up to 2^32 stay inside, and an index outside is our bug", () => {
  for (const size of [2 ** 31 + 11, 2 ** 32]) {
    const images = range(100).map((index) => permute({ key: [1, 2], size, index: size - 1 - index }));
    assert(images.every((image) => Number.isInteger(image) && image >= 0 && image < size));
    assertEquals(new Set(images).size, 100);
  }
  assertThrows(() => permute({ key: [1, 2], size: 10, index: 10 }), Error, "'index' must be in [0, 10)");
});

Deno.test("permute: neighbours are scattered", () => {
  const size = 10_000;
  const images = range(size).map((index) => permute({ key: keyOf(1, "test"), size, index }));
  const steps = images.slice(1).map((image, i) => Math.abs(image - images[i]!));
  // A random order steps size/3 on average, with a standard error of about size·0.236/√size.
  assertAlmostEquals(steps.reduce((a, b) => a + b) / steps.length, size / 3, 0.01 * size);
});

Deno.test("microbatchSequences: a pass reads each window once, none twice", () => {
  assertEquals(windowsPerPass(shape), 50);
  assertEquals(sorted(order(50)), range(50, 16));
});

Deno.test("microbatchSequences: the next pass has another order and begins inside a microbatch", () => {
  const [first, second] = [order(100).slice(0, 50), order(100).slice(50)];
  assertEquals(sorted(second), range(50, 16));
  assertNotEquals(first, second);
});

Deno.test("microbatchSequences: dataset, seed and nothing else decide the order", () => {
  assertEquals(order(50), order(50));
  assertNotEquals(order(50, { seed: 8 }), order(50));
  assertNotEquals(order(50, { datasetHash: "cd".repeat(32) }), order(50));
  assertEquals(order(48, { sequences: 8 }), order(48), "B only groups the order");
});

Deno.test("microbatchSequences: the order is frozen, since auditors recompute it", () => {
  const request = { ...shape, tokens: 3_430_883, contextLength: 128 };
  assertEquals(microbatchSequences({ ...request, microbatch: microbatchId(0) }), [3153024, 2505728, 3395584, 1680128]);
  assertEquals(microbatchSequences({ ...request, microbatch: microbatchId(12_345) }), [
    911872,
    1367552,
    782336,
    744576,
  ]);
});

Deno.test("microbatchSequences: a window and its targets lie inside the stream", () => {
  for (const tokens of [17, 32, 33, 48, 49]) {
    const last = Math.max(...order(4, { tokens }));
    assert(last + 16 + 1 <= tokens, `${last} of ${tokens}`);
  }
  assertThrows(() => order(1, { tokens: 16 }), Error, "has 16 tokens, and a sequence needs more than 16");
});

Deno.test("heldOutSequences: windows are spread evenly and do not overlap", () => {
  const tokens = 16 * 10 + 5;
  assertEquals(heldOutSequences({ sequences: 5, contextLength: 16, tokens }), [0, 32, 64, 96, 128]);
  assertEquals(heldOutSequences({ sequences: 10, contextLength: 16, tokens }), range(10, 16));
  assertEquals(heldOutSequences({ sequences: 3, contextLength: 16, tokens }), [0, 48, 96]);
  assertThrows(() => heldOutSequences({ sequences: 11, contextLength: 16, tokens }), Error, "has only 10 windows");
});

Deno.test("unigramEntropy: one token is 0 nats, n equally frequent ones are ln n", () => {
  assertEquals(unigramEntropy([5, 5, 5]), 0);
  assertAlmostEquals(unigramEntropy([1, 2, 3, 4, 1, 2, 3, 4]), Math.log(4));
  assertAlmostEquals(unigramEntropy([0, 0, 0, 1]), -(0.75 * Math.log(0.75) + 0.25 * Math.log(0.25)));
});

Deno.test("passesOver: a pass is every window once, wherever steps and microbatches end", () => {
  const reading = { microbatchesPerStep: 3, sequences: 2, contextLength: 10, tokens: 121 }; // 12 windows
  assertEquals([1, 2, 3].map((steps) => passesOver({ ...reading, steps })), [0.5, 1, 1.5]);
  const visited = Array.from(
    { length: 6 },
    (_, i) => microbatchSequences({ ...reading, datasetHash: "d", seed: 1, microbatch: microbatchId(i) }),
  ).flat();
  assertEquals(new Set(visited).size, 12);
});
