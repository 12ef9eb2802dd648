/** bfloat16 rounding at every kind of value. */

import { assert, assertEquals, assertThrows } from "@std/assert";
import { decodeBfloat16, encodeBfloat16 } from "../../../core/codec/bfloat16.ts";

/** The bf16 pattern of one float32 pattern. */
function patternOf(bits: number): number {
  const bytes = encodeBfloat16(new Float32Array(new Uint32Array([bits]).buffer));
  return bytes[0]! | (bytes[1]! << 8);
}

Deno.test("bfloat16: rounds to nearest, ties to even", () => {
  assertEquals(patternOf(0x3f800000), 0x3f80); // 1
  assertEquals(patternOf(0x3f807fff), 0x3f80); // below the tie
  assertEquals(patternOf(0x3f808000), 0x3f80); // tie, lower is even
  assertEquals(patternOf(0x3f808001), 0x3f81); // above the tie
  assertEquals(patternOf(0x3f818000), 0x3f82); // tie, upper is even
  assertEquals(patternOf(0xbf818000), 0xbf82); // sign does not matter
  assertEquals(patternOf(0x3fffffff), 0x4000); // carries into the exponent
});

Deno.test("bfloat16: zeros, infinities, subnormals and NaN keep their kind", () => {
  assertEquals(patternOf(0x00000000), 0x0000);
  assertEquals(patternOf(0x80000000), 0x8000);
  assertEquals(patternOf(0x7f800000), 0x7f80);
  assertEquals(patternOf(0xff800000), 0xff80);
  assertEquals(patternOf(0x7f7fffff), 0x7f80); // the largest float32 rounds to infinity
  assertEquals(patternOf(0x00010000), 0x0001); // subnormal
  for (const nan of [0x7f800001, 0x7fc00000, 0x7fffffff, 0xff800001, 0xffffffff]) {
    const pattern = patternOf(nan);
    assert((pattern & 0x7f80) === 0x7f80 && (pattern & 0x7f) !== 0, `NaN ${nan.toString(16)} became a number`);
  }
});

Deno.test("bfloat16: every pattern decodes and encodes to itself", () => {
  const bytes = new Uint8Array(2 * 65536);
  for (let pattern = 0; pattern < 65536; pattern++) {
    bytes[2 * pattern] = pattern;
    bytes[2 * pattern + 1] = pattern >>> 8;
  }
  const values = decodeBfloat16(bytes);
  const again = encodeBfloat16(values);
  for (let pattern = 0; pattern < 65536; pattern++) {
    const back = again[2 * pattern]! | (again[2 * pattern + 1]! << 8);
    const isSignalling = Number.isNaN(values[pattern]) && (pattern & 0x40) === 0;
    assertEquals(back, isSignalling ? pattern | 0x40 : pattern);
  }
  assertThrows(() => decodeBfloat16(new Uint8Array(3)));
});
