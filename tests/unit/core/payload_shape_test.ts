/** Shapes of payloads: exact lengths of tensors however slices are cut, and sketches that estimate cosines. */

import { assertAlmostEquals, assertEquals, assertLess } from "@std/assert";
import { atOnce } from "../../../core/long_work.ts";
import { cosineOf, type PayloadShape, ShapeSum } from "../../../core/merge/payload_shape.ts";
import { gaussOf } from "../../support/small_gauss.ts";

const tensors = [100, 7, 1, 20_000, 300].map((size, i, sizes) => ({
  name: `tensor ${i}`,
  shape: [size],
  initial: { type: "zeros" as const },
  offset: sizes.slice(0, i).reduce((sum, each) => sum + each, 0),
  size,
}));
const length = tensors.reduce((sum, { size }) => sum + size, 0);
const padding = 56;

function shapeOf(
  values: Float32Array,
  { cuts = [0], key = 1 }: { cuts?: readonly number[]; key?: number } = {},
): PayloadShape {
  const sum = new ShapeSum(tensors as never, key);
  cuts.forEach((cut, i) => atOnce(sum.add(values.subarray(cut, cuts[i + 1] ?? values.length), cut)));
  return sum.shape;
}

function someValues(seed: number): Float32Array {
  const values = Float32Array.from({ length: length + padding }, gaussOf(seed));
  values.fill(0, length);
  return values;
}

Deno.test("Payload shape: each tensor's squares are summed, wherever slices are cut, padding included", () => {
  const values = someValues(1);
  const expected = tensors.map(({ offset, size }) =>
    values.subarray(offset, offset + size).reduce((sum, value) => sum + value * value, 0)
  );
  for (const cuts of [[0], [0, 100], [0, 50, 103, 108, 9_000], [0, length], [0, 107, 108]]) {
    const { tensorSquares, sketch } = shapeOf(values, { cuts });
    tensorSquares.forEach((square, i) => assertAlmostEquals(square, expected[i]!, 1e-9 * Math.max(1, expected[i]!)));
    sketch.forEach((sum, i) => assertAlmostEquals(sum, shapeOf(values).sketch[i]!, 1e-9));
  }
});

Deno.test("Payload shape: sketches are linear and estimate cosines to a few hundredths, with any key", () => {
  const [a, b] = [someValues(2), someValues(3)];
  for (const key of [1, 77, 0xffff_ffff]) {
    for (const share of [-1, -0.5, 0, 0.3, 0.8, 1]) {
      const mixed = a.map((value, i) => share * value + Math.sqrt(1 - share * share) * b[i]!);
      const found = cosineOf(shapeOf(a, { key }).sketch, shapeOf(mixed, { key }).sketch);
      assertLess(Math.abs(found - share), 0.2, `${share} is estimated as ${found}`); // three deviations
    }
    const half = shapeOf(a.map((value) => value / 2), { key }).sketch;
    assertAlmostEquals(cosineOf(half, shapeOf(a, { key }).sketch), 1, 1e-12);
  }
  assertEquals(cosineOf(shapeOf(new Float32Array(length)).sketch, shapeOf(a).sketch), 0);
});
