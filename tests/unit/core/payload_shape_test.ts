/** Shapes of payloads: exact lengths of tensors however slices are cut, and sketches that estimate cosines. */

import { assertAlmostEquals, assertEquals, assertLess } from "@std/assert";
import { atOnce } from "../../../core/long_work.ts";
import { peakSizes } from "../../../core/update/matrix_peaks.ts";
import { cosineOf, type PayloadShape, ShapeSum } from "../../../core/update/payload_shape.ts";
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
  return sum.finish();
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

Deno.test("Payload shape: the longest row and column of each matrix, wherever slices are cut", () => {
  const shapes = [[8, 5], [3], [1, 7], [6, 64]];
  const offsets = [0, 64, 128, 192]; // with padding behind each
  const matrices = shapes.map((shape, i) => ({
    ...{ name: `tensor ${i}`, shape, initial: { type: "zeros" as const } },
    ...{ offset: offsets[i]!, size: shape.reduce((a, b) => a * b, 1) },
  }));
  const values = Float32Array.from({ length: 192 + 6 * 64 }, gaussOf(4));
  const longest = (rows: number, columns: number, offset: number): number[] => {
    const [ofRows, ofColumns] = [new Float64Array(rows), new Float64Array(columns)];
    for (let i = 0; i < rows * columns; i++) {
      const square = values[offset + i]! ** 2;
      ofRows[Math.floor(i / columns)]! += square;
      ofColumns[i % columns]! += square;
    }
    return [Math.max(...ofRows), Math.max(...ofColumns)];
  };
  const expected = [...longest(8, 5, 0), ...longest(6, 64, 192)];
  assertEquals(peakSizes(matrices as never), [5, 8, 64, 6]);
  for (const cuts of [[0], [0, 3, 12, 40, 63, 64, 65, 190, 195, 400], [0, 192], [0, 1, 2, 3]]) {
    const sum = new ShapeSum(matrices as never, 1);
    cuts.forEach((cut, i) => atOnce(sum.add(values.subarray(cut, cuts[i + 1] ?? values.length), cut)));
    const { peakSquares } = sum.finish();
    assertEquals(peakSquares.length, expected.length);
    peakSquares.forEach((square, i) => assertAlmostEquals(square, expected[i]!, 1e-9));
  }
});
