/** Merge arithmetic: averages, the outer step; each against a naive version of itself. */

import { assert, assertAlmostEquals, assertEquals, assertThrows } from "@std/assert";
import { blobHash } from "../../../core/ids.ts";
import { averageSlices, contributionWeights } from "../../../core/update/average.ts";
import { assignReducers, sliceLayout } from "../../../core/update/butterfly.ts";
import { outerStep, pseudoGradient } from "../../../core/update/outer.ts";
import { keyOf, nextBelow, nextUint32, openStream, shuffle, type Stream } from "../../../core/prng.ts";

const streamOf = (...labels: (string | number)[]): Stream => openStream(keyOf(1, "merge test", ...labels));

function randomVector(stream: Stream, length: number): Float32Array<ArrayBuffer> {
  return Float32Array.from({ length }, () => (nextUint32(stream) / 2 ** 32 - 0.5) * 10 ** (nextBelow(stream, 9) - 6));
}

// ----------------------------------------------------------------------------------------------------------- average

Deno.test("Average: equal to a naive weighted mean in float64, rounded once", () => {
  for (let miners = 1; miners <= 12; miners++) {
    const stream = streamOf("average", miners);
    const inputs = Array.from({ length: miners }, () => randomVector(stream, 192));
    const weights = Array.from({ length: miners }, () => 1 + nextBelow(stream, 5000));
    const result = averageSlices({ inputs, weights });
    assert(result.ok);
    const total = weights.reduce((a, b) => a + b, 0);
    for (let i = 0; i < 192; i++) {
      let sum = 0;
      for (let j = 0; j < miners; j++) sum += inputs[j]![i]! * weights[j]!;
      assertEquals(result.value[i], Math.fround(sum / total));
    }
  }
});

Deno.test("Average: of equal inputs it is the input, whatever the weights; a zero weight counts nothing", () => {
  const stream = streamOf("equal");
  const input = randomVector(stream, 256);
  const same = averageSlices({ inputs: [input, input, input], weights: [1, 1, 1] });
  assert(same.ok);
  assertEquals(same.value, input);
  const one = averageSlices({ inputs: [input, randomVector(stream, 256)], weights: [3, 0] });
  assert(one.ok);
  assertEquals(one.value, input);
});

Deno.test("Average: a mean of the largest floats does not overflow", () => {
  const largest = new Float32Array([3.4028234663852886e38, -3.4028234663852886e38]);
  const result = averageSlices({ inputs: [largest, largest, largest], weights: [7, 1e15, 3] });
  assert(result.ok);
  assertEquals(result.value, largest);
});

Deno.test("Average: bad numbers are refused, and the text says which", () => {
  const good = new Float32Array([1, 2]);
  const cases: [name: string, inputs: Float32Array[], weights: number[], detail: RegExp][] = [
    ["no inputs", [], [], /0 slices/],
    ["a weight too few", [good, good], [1], /2 slices with 1 weights/],
    ["another length", [good, new Float32Array(3)], [1, 1], /different lengths, 2 and 3/],
    ["NaN", [good, new Float32Array([1, NaN])], [1, 1], /input 1 holds/],
    ["infinity", [new Float32Array([Infinity, 0]), good], [1, 1], /input 0 holds/],
    ["NaN of weight zero", [good, new Float32Array([NaN, 1])], [1, 0], /input 1 holds/],
    ["opposite infinities", [new Float32Array([Infinity, 0]), new Float32Array([-Infinity, 0])], [1, 1], /input 0/],
    ["a negative weight", [good, good], [1, -1], /weights must be/],
    ["a weight that is no number", [good, good], [1, NaN], /weights must be/],
    ["an endless weight", [good, good], [1, Infinity], /weights must be/],
    ["only zero weights", [good, good], [0, 0], /weights must be/],
  ];
  for (const [name, inputs, weights, detail] of cases) {
    const result = averageSlices({ inputs, weights });
    assert(!result.ok, name);
    assertEquals(result.fault.code, "badNumbers");
    assert(detail.test(result.fault.detail), `${name}: ${result.fault.detail}`);
  }
});

Deno.test("Average: a miner that claims much more work than the others weighs twice the median", () => {
  assertEquals(contributionWeights([100, 100, 100]), [100, 100, 100]);
  assertEquals(contributionWeights([100, 120, 1_000_000]), [100, 120, 240]);
  assertEquals(contributionWeights([10, 20, 30, 1000]), [10, 20, 30, 50]);
  assertEquals(contributionWeights([5, 500]), [5, 500]); // with two, neither is known to be the outlier
  assertEquals(contributionWeights([7]), [7]);
  assertEquals(contributionWeights([]), []);
});

// -------------------------------------------------------------------------------------------------------- outer step

Deno.test("Outer step: rate 1 without momentum is exactly start minus average", () => {
  const stream = streamOf("plain");
  const parameters = randomVector(stream, 1024);
  const average = randomVector(stream, 1024);
  const momentum = new Float32Array(1024);
  const next = outerStep({ parameters, momentum, average, learningRate: 1, momentumFactor: 0 });
  assertEquals(next.parameters, parameters.map((value, i) => value - average[i]!));
  assertEquals(next.momentum, average);
});

Deno.test("Outer step: nothing learned, nothing changed", () => {
  const parameters = randomVector(streamOf("still"), 256);
  const zeros = new Float32Array(256);
  assertEquals(pseudoGradient({ start: parameters, current: parameters }), zeros);
  const next = outerStep({ parameters, momentum: zeros, average: zeros, learningRate: 0.7, momentumFactor: 0.9 });
  assertEquals(next.parameters, parameters);
});

Deno.test("Outer step: one replica that averages with itself ends where it was, to rounding", () => {
  const stream = streamOf("alone");
  const start = randomVector(stream, 512);
  const current = start.map((value) => value * (1 + 1e-3));
  const average = pseudoGradient({ start, current });
  const momentum = new Float32Array(512);
  const next = outerStep({ parameters: start, momentum, average, learningRate: 1, momentumFactor: 0 });
  for (let i = 0; i < 512; i++) assertAlmostEquals(next.parameters[i]!, current[i]!, Math.abs(current[i]!) * 2 ** -23);
});

Deno.test("Outer step: ten rounds of Nesterov agree with the formula written out", () => {
  const stream = streamOf("nesterov");
  let state = { parameters: randomVector(stream, 96), momentum: new Float32Array(96) };
  const naive = { theta: [...state.parameters], v: new Array<number>(96).fill(0) };
  for (let round = 0; round < 10; round++) {
    const average = randomVector(stream, 96);
    state = outerStep({ ...state, average, learningRate: 0.7, momentumFactor: 0.9 });
    for (let i = 0; i < 96; i++) {
      naive.v[i] = Math.fround(0.9 * naive.v[i]! + average[i]!);
      naive.theta[i] = Math.fround(naive.theta[i]! - 0.7 * (average[i]! + 0.9 * naive.v[i]!));
    }
    assertEquals([...state.parameters], naive.theta);
    assertEquals([...state.momentum], naive.v);
  }
});

Deno.test("Outer step: by slices in any order it gives the bits of the whole vector", () => {
  const length = 64 * 50;
  for (let miners = 1; miners <= 12; miners++) {
    const stream = streamOf("sliced", miners);
    const parameters = randomVector(stream, length);
    const momentum = randomVector(stream, length);
    const average = randomVector(stream, length);
    const settings = { learningRate: 0.7, momentumFactor: 0.9 };
    const whole = outerStep({ parameters, momentum, average, ...settings });
    const joined = { parameters: new Float32Array(length), momentum: new Float32Array(length) };
    for (const { offset, size } of shuffle(stream, sliceLayout({ length, contributors: miners }))) {
      const part = (vector: Float32Array) => vector.subarray(offset, offset + size);
      const stepped = outerStep({
        parameters: part(parameters),
        momentum: part(momentum),
        average: part(average),
        ...settings,
      });
      joined.parameters.set(stepped.parameters, offset);
      joined.momentum.set(stepped.momentum, offset);
    }
    assertEquals(joined, whole);
  }
});

Deno.test("Outer step: inputs stay as they are, lengths must agree", () => {
  const vector = new Float32Array([1, 2]);
  const settings = { learningRate: 0.7, momentumFactor: 0.9 };
  outerStep({ parameters: vector, momentum: vector, average: vector, ...settings });
  assertEquals(vector, new Float32Array([1, 2]));
  const short = new Float32Array(1);
  assertThrows(
    () => outerStep({ parameters: short, momentum: vector, average: vector, ...settings }),
    Error,
    "Lengths",
  );
  assertThrows(() => pseudoGradient({ start: short, current: vector }), Error, "Lengths");
});

Deno.test("Merge: a butterfly of any size gives every miner the plain average, and one liar is named", () => {
  const length = 64 * 80;
  for (let miners = 3; miners <= 8; miners++) {
    const stream = streamOf("whole", miners);
    const inputs = Array.from({ length: miners }, () => randomVector(stream, length));
    const weights = inputs.map(() => 1);
    const expected = averageSlices({ inputs, weights });
    assert(expected.ok);
    const slices = sliceLayout({ length, contributors: miners });
    const pairs = assignReducers({ slices: slices.length, miners, stream });
    const liar = nextBelow(stream, miners);
    const merged = new Float32Array(length);
    const accused = new Set<number>();
    slices.forEach(({ offset, size }, index) => {
      const result = (): Float32Array => {
        const average = averageSlices({ inputs: inputs.map((v) => v.subarray(offset, offset + size)), weights });
        assert(average.ok);
        return average.value;
      };
      const reduce = (miner: number): Float32Array => {
        const value = result();
        if (miner === liar) value[0]! += 1;
        return value;
      };
      const pair = pairs[index]!;
      const reducers: number[] = [...pair];
      const hash = (miner: number) => blobHash(reduce(miner).join());
      const truth = blobHash(result().join());
      const liars = reducers.filter((miner) => hash(miner) !== truth);
      for (const each of liars) accused.add(each);
      const honest = reducers.find((miner) => !liars.includes(miner))!;
      merged.set(reduce(honest), offset);
    });
    assertEquals(merged, expected.value);
    assertEquals([...accused], [liar]);
  }
});
