/**
 * Codes of few bits against a plain statement of their grids in float64: scales, codes, unbiased rounding, parts of a wire by
 * several hands, and what a hostile wire may hold.
 */

import { assert, assertAlmostEquals, assertEquals, assertLess } from "@std/assert";
import { notFinite, scaleByte, scaleOf, zeroScale } from "../../../core/codec/row_scale.ts";
import { noKey, roundingKey } from "../../../core/codec/rounding_key.ts";
import { codesOffset, type CodesSpec, draw, ScaledCodes, scaledCodes } from "../../../core/codec/scaled_codes.ts";
import { prngOf } from "../../support/small_prng.ts";

const patternOf = (value: number) => new Uint32Array(Float32Array.of(value).buffer)[0]!;
const byteOf = (value: number) => scaleByte(patternOf(Math.abs(value)));
const specs: readonly CodesSpec[] = [3, 4, 5, 6, 7, 8].flatMap((bits) =>
  (["nearest", "stochastic"] as const).map((grid) => ({ bits, grid }))
);

Deno.test("Row scale: the least quarter octave that is not below the magnitude, over the whole range", () => {
  const below = prngOf(1);
  for (let i = 0; i < 20_000; i++) {
    const magnitude = Math.fround(2 ** (below(60_000) / 1_000 - 38));
    const byte = byteOf(magnitude);
    if (byte === 254 || byte === zeroScale) continue; // clipped
    assert(scaleOf(byte) >= magnitude, `${magnitude}`);
    assert(scaleOf(byte) < magnitude * 2 ** 0.25 * (1 + 1e-6), `${magnitude}`);
  }
});

Deno.test("Row scale: powers of two are exact, and the ends of the range are clipped", () => {
  for (let exponent = -40; exponent <= 23; exponent++) assertEquals(scaleOf(byteOf(2 ** exponent)), 2 ** exponent);
  assertEquals([byteOf(0), byteOf(1e-40), byteOf(2 ** -41)], [zeroScale, zeroScale, zeroScale]);
  assertEquals([byteOf(1e8), byteOf(3.4e38)], [254, 254]);
  assertEquals([byteOf(Infinity), byteOf(NaN)], [notFinite, notFinite]);
});

Deno.test("Codes: a value moves by half a code at most on the nearest grid, by one on the stochastic", () => {
  const below = prngOf(2);
  const shape = { rows: 8, width: 24 };
  for (const spec of specs) {
    const format = scaledCodes(spec);
    for (let round = 0; round < 20; round++) {
      const size = 10 ** (below(12) - 8);
      const values = Float32Array.from({ length: 192 }, () => (below(2_001) / 1_000 - 1) * size);
      const decoded = format.decode(format.encode(values, shape, noKey), shape);
      for (let row = 0; row < shape.rows; row++) {
        const own = values.subarray(row * 24, row * 24 + 24);
        const scale = scaleOf(byteOf(own.reduce((most, value) => Math.max(most, Math.abs(value)), 0)));
        const levels = 2 ** (spec.bits - 1);
        const most = spec.grid === "nearest" ? scale / levels / 2 : scale / (levels - 1);
        own.forEach((value, i) => assertLess(Math.abs(decoded[row * 24 + i]! - value), most * (1 + 1e-5)));
      }
    }
  }
});

Deno.test("Codes: stochastic rounding is unbiased: the mean of many places is the value, to sampling error", () => {
  const shape = { rows: 512, width: 64 };
  for (const bits of [4, 5, 6, 8]) {
    const format = scaledCodes({ bits, grid: "stochastic" });
    for (const value of [0.3, -0.011, 0.0007, 0.9, -0.49999]) {
      const values = new Float32Array(shape.rows * shape.width).fill(value);
      for (let i = 0; i < values.length; i += shape.width) values[i] = 1; // the scale
      const decoded = format.decode(format.encode(values, shape, noKey), shape).filter((_, i) => i % shape.width !== 0);
      const mean = decoded.reduce((sum, each) => sum + each, 0) / decoded.length;
      const step = 1 / (2 ** (bits - 1) - 1);
      assertLess(Math.abs(mean - value), 4 * (step / 2) / Math.sqrt(decoded.length), `${bits} bits, ${value}`);
    }
  }
});

Deno.test("Codes: stochastic rounding of gradients of all sizes has no bias, and its errors are as large as expected", () => {
  const below = prngOf(8);
  const shape = { rows: 4096, width: 24 };
  const gaussian = () => Array.from({ length: 12 }, () => below(1_000) / 1_000).reduce((sum, each) => sum + each, -6);
  const values = Float32Array.from({ length: shape.rows * shape.width }, () => 1e-3 * gaussian());
  for (const bits of [4, 5, 6, 8]) {
    const format = scaledCodes({ bits, grid: "stochastic" });
    const decoded = format.decode(format.encode(values, shape, noKey), shape);
    let along = 0, size = 0, error = 0, expected = 0; // sums of products
    for (let i = 0; i < values.length; i++) {
      const row = i - i % shape.width;
      const largest = values.subarray(row, row + shape.width).reduce((most, each) => Math.max(most, Math.abs(each)), 0);
      const step = scaleOf(byteOf(largest)) / (2 ** (bits - 1) - 1);
      const share = Math.abs(values[i]!) / step % 1;
      along += decoded[i]! * values[i]!;
      size += values[i]! ** 2;
      error += (decoded[i]! - values[i]!) ** 2;
      expected += share * (1 - share) * step ** 2; // of a coin that is up with this share
    }
    assertLess(Math.abs(error / expected - 1), 0.02, `${bits} bits: variance`);
    // A gain of 1 to four standard errors: values neither shrink nor grow on average.
    assertLess(Math.abs(along / size - 1), 4 * Math.sqrt(expected / size / values.length), `${bits} bits: gain`);
  }
});

Deno.test("Codes: a value that stays between two codes is rounded anew for every microbatch, so its errors cancel", () => {
  const below = prngOf(9);
  const shape = { rows: 32, width: 16 };
  const values = Float32Array.from({ length: 512 }, (_, i) => i % 16 === 0 ? 1 : below(2_001) / 1_000 - 1);
  const steps = 400;
  for (const bits of [4, 7, 8]) {
    const format = scaledCodes({ bits, grid: "stochastic" });
    const sums = new Float64Array(512);
    for (let step = 0; step < steps; step++) {
      const input = Uint8Array.from({ length: 40 }, () => below(256));
      format.decode(format.encode(values, shape, roundingKey(input)), shape).forEach((value, i) => sums[i]! += value);
    }
    const code = 1 / (2 ** (bits - 1) - 1);
    let error = 0, expected = 0; // squares of sums
    for (let i = 0; i < 512; i++) {
      const share = Math.abs(values[i]!) / code % 1;
      error += (sums[i]! - steps * values[i]!) ** 2;
      expected += steps * share * (1 - share) * code ** 2; // of independent coins
    }
    assertLess(Math.abs(Math.sqrt(error / expected) - 1), 0.15, `${bits} bits`); // without a key 20 times as large
  }
});

Deno.test("Codes: a value exactly on a code stays there, even if the lowest number is drawn", () => {
  const most = 7; // of 4 bits
  for (let code = 1; code < most; code++) {
    let key = 0;
    while (draw({ place: 1, scale: byteOf(1), code, key }) !== 0) key++;
    for (const value of [code / most, -code / most]) {
      const shape = { rows: 1, width: 2 };
      const format = scaledCodes({ bits: 4, grid: "stochastic" });
      const decoded = format.decode(format.encode(Float32Array.of(1, value), shape, key), shape);
      assertAlmostEquals(decoded[1]!, value, 1e-6);
    }
  }
});

Deno.test("Codes: two honest results differ as much as stochastic rounding allows for, and not by far less", () => {
  const below = prngOf(10);
  const shape = { rows: 8192, width: 32 };
  const values = Float32Array.from(
    { length: shape.rows * shape.width },
    (_, i) => i % shape.width === 0 ? 1 : below(2 ** 20) / 2 ** 19 - 1,
  );
  const others = values.map((value, i) => i % shape.width === 0 ? 1 : value + (below(2) === 0 ? 2.5e-5 : -2.5e-5));
  for (const bits of [6, 7, 8]) {
    const format = scaledCodes({ bits, grid: "stochastic" });
    const [one, other] = [values, others].map((each) => format.decode(format.encode(each, shape, noKey), shape));
    const squareSum = one!.reduce((sum, value, i) => sum + (value - other![i]!) ** 2, 0);
    const { ofRow, valuesHit } = format.rounding;
    const share = squareSum / (values.length * valuesHit * ofRow ** 2); // of what is allowed for, where 1 is a row's largest
    assert(share < 1 && share > 1 / 3, `${bits} bits: ${share}`);
  }
});

Deno.test("Codes: any division of a wire into rows of whole words gives the same bytes and values", () => {
  const below = prngOf(3);
  const shape = { rows: 100, width: 24 };
  const values = Float32Array.from({ length: 2_400 }, () => below(2_001) - 1_000);
  for (const spec of specs) {
    const format = scaledCodes(spec);
    const whole = format.encode(values, shape, noKey);
    const codes = new ScaledCodes(spec);
    const bytes = new Uint8Array(whole.length), target = new Float32Array(values.length);
    for (const [from, to] of [[64, 100], [0, 32], [32, 64]] as const) {
      codes.encodeRows({ values, bytes, key: noKey }, shape, { from, to });
      codes.decodeRows({ bytes: whole, target }, shape, { from, to });
    }
    assertEquals(bytes, whole);
    assertEquals(target, format.decode(whole, shape));
  }
});

Deno.test("Codes: a zero row, a sign and the order of bits are as documented", () => {
  const shape = { rows: 2, width: 8 };
  const values = Float32Array.from([1, -1, 0.5, -0.5, 0.0625, -0.0625, 0, 0.99, 0, 0, 0, 0, 0, 0, 0, 0]);
  const bytes = scaledCodes({ bits: 4, grid: "nearest" }).encode(values, shape, noKey);
  // scales of 1 and of a zero row, padding; codes 15, 0, 12, 3, 8, 7, 8, 15, then eight of 8
  assertEquals(bytes.toHex(), "a1000000" + "0f3c78f8" + "88888888");
  assertEquals([...scaledCodes({ bits: 4, grid: "nearest" }).decode(bytes, shape)].slice(0, 3), [
    0.9375,
    -0.9375,
    0.5625,
  ]);
});

Deno.test("Codes: the sums of a wire are those of its decoded values", () => {
  const below = prngOf(5);
  for (const spec of specs) {
    const format = scaledCodes(spec);
    for (const shape of [{ rows: 1, width: 1 }, { rows: 5, width: 12 }, { rows: 64, width: 24 }]) {
      const size = 10 ** (below(12) - 8);
      const values = Float32Array.from({ length: shape.rows * shape.width }, () => (below(2_001) / 1_000 - 1) * size);
      const bytes = format.encode(values, shape, noKey);
      const decoded = [...format.decode(bytes, shape)];
      const { largest, squareSum } = format.sums(bytes, shape);
      assertEquals(largest, Math.max(...decoded.map(Math.abs)));
      const expected = decoded.reduce((sum, value) => sum + value * value, 0);
      assertEquals(squareSum, expected);
    }
  }
});

Deno.test("Codes: a scale that is no number, an undefined code or rubbish in the padding is not accepted", () => {
  const shape = { rows: 3, width: 5 };
  for (const spec of specs) {
    const format = scaledCodes(spec);
    const bytes = format.encode(Float32Array.from({ length: 15 }, (_, i) => i - 7), shape, noKey);
    assert(format.isFinite(bytes, shape));
    assert(!format.isFinite(bytes.with(2, notFinite), shape), "scale");
    assert(!format.isFinite(bytes.with(3, 1), shape), "padding of the scales");
    const end = codesOffset(shape) + Math.ceil(15 * spec.bits / 8);
    if (end < bytes.length) assert(!format.isFinite(bytes.with(end, 1), shape), "padding of the codes");
    if (15 * spec.bits % 8 !== 0) {
      assert(!format.isFinite(bytes.with(end - 1, bytes[end - 1]! | 0x80), shape), "last bits");
    }
    const zeroed = bytes.map((byte, i) => i < codesOffset(shape) ? byte : 0);
    assertEquals(format.isFinite(zeroed, shape), spec.grid === "nearest", "code 0");
  }
});

Deno.test("Codes: any bytes that are accepted decode to finite values", () => {
  const below = prngOf(4);
  const shape = { rows: 4, width: 8 };
  let accepted = 0;
  for (const spec of specs) {
    const format = scaledCodes(spec);
    for (let round = 0; round < 300; round++) {
      const bytes = Uint8Array.from({ length: format.byteLength(shape) }, () => below(256));
      if (!format.isFinite(bytes, shape)) continue;
      accepted += 1;
      assert(format.decode(bytes, shape).every(Number.isFinite));
      assert(Number.isFinite(format.sums(bytes, shape).squareSum));
    }
  }
  assert(accepted > 1_000, `${accepted}`);
});
