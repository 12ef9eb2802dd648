/** One pass over a member's vector: finite or not, its length squared, its largest value. */

import { assert, assertEquals } from "@std/assert";
import { payloadStats } from "../../../core/update/payload_stats.ts";

const largestFloat = 3.4028234663852886e38;
const smallestFloat = 2 ** -149;

Deno.test("Payload stats: an empty vector is finite and has no length", () => {
  assertEquals(payloadStats(new Float32Array(0)), { isFinite: true, squareSum: 0, largest: 0 });
});

Deno.test("Payload stats: the sum of squares and the largest absolute value, whatever the signs", () => {
  assertEquals(payloadStats(Float32Array.of(1, -3, 2, -0)), { isFinite: true, squareSum: 14, largest: 3 });
});

Deno.test("Payload stats: a NaN or an infinity anywhere is reported, and the rest is still measured", () => {
  for (const bad of [NaN, Infinity, -Infinity]) {
    for (const at of [0, 1, 2]) {
      const values = Float32Array.of(3, 3, 3);
      values[at] = bad;
      assertEquals(payloadStats(values), { isFinite: false, squareSum: 18, largest: 3 });
    }
  }
});

Deno.test("Payload stats: NaN encodings that no calculation produces are reported too", () => {
  for (const bits of [0x7f800001, 0xffffffff, 0x7fc00000, 0xff800001]) {
    const values = new Float32Array(Uint32Array.of(0x3f800000, bits).buffer);
    assert(!payloadStats(values).isFinite, bits.toString(16));
  }
});

Deno.test("Payload stats: squares beyond float32 are summed without overflow", () => {
  const { isFinite, squareSum, largest } = payloadStats(new Float32Array(1000).fill(-largestFloat));
  assert(isFinite);
  assertEquals(largest, largestFloat);
  assert(Number.isFinite(squareSum) && Math.abs(squareSum / (1000 * largestFloat ** 2) - 1) < 1e-12);
});

Deno.test("Payload stats: subnormal values count", () => {
  const stats = payloadStats(Float32Array.of(smallestFloat, -smallestFloat));
  assertEquals(stats, { isFinite: true, squareSum: 2 * smallestFloat ** 2, largest: smallestFloat });
  assert(stats.squareSum > 0);
});

Deno.test("Payload stats: small values behind a large one are not lost as they would be in float32", () => {
  const values = new Float32Array(1 + 2 ** 16).fill(1);
  values[0] = 4096; // its square is 2 ** 24, to which a float32 cannot add 1
  assertEquals(payloadStats(values).squareSum, 2 ** 24 + 2 ** 16);
});
