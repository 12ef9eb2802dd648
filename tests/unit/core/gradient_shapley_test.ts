/** Values of payloads from one gradient: exact where the loss is linear, and close where it is not by much. */

import { assertAlmostEquals, assertEquals } from "@std/assert";
import { gradientShapley } from "../../../core/score/gradient_shapley.ts";
import { gaussOf } from "../../support/small_gauss.ts";

const size = 50;

/** L(x) = <a, x> + c |x|^2 / 2 at the origin. */
function world(seed: number, c: number) {
  const gauss = gaussOf(seed);
  const vector = () => Float32Array.from({ length: size }, () => 0.1 * gauss());
  const a = vector();
  const payloads = Array.from({ length: 5 }, vector);
  const merged = (of: readonly Float32Array[]) =>
    a.map((_, i) => -of.reduce((sum, payload) => sum + payload[i]!, 0) / payloads.length);
  const loss = (x: Float32Array) => x.reduce((sum, value, i) => sum + a[i]! * value + c * value * value / 2, 0);
  const gradient = (x: Float32Array) => a.map((value, i) => value + c * x[i]!);
  return { payloads, loss, gradient, merged };
}

Deno.test("Gradient Shapley: of a linear loss it is each payload's part of the fall", () => {
  const { payloads, loss, gradient, merged } = world(1, 0);
  const start = new Float32Array(size);
  const values = gradientShapley({ gradients: [gradient(start)], payloads });
  const withAll = loss(merged(payloads));
  for (const [i, payload] of payloads.entries()) {
    assertAlmostEquals(values[i]!, loss(merged(payloads.filter((each) => each !== payload))) - withAll, 1e-6);
  }
});

Deno.test("Gradient Shapley: with the gradients of both ends the values of a quadratic loss add up to its fall", () => {
  const { payloads, loss, gradient, merged } = world(2, 3);
  const start = new Float32Array(size);
  const end = merged(payloads);
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
  const fall = loss(start) - loss(end);
  const both = sum(gradientShapley({ gradients: [gradient(start), gradient(end)], payloads }));
  assertAlmostEquals(both, fall, 1e-5);
  const one = sum(gradientShapley({ gradients: [gradient(start)], payloads }));
  assertEquals(Math.abs(one - fall) > 1e-3, true, "one end alone misses the curvature");
});
