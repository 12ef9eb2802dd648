/** What a miner shows of its parameters: how exact it is, and bytes that are none. */

import { assert, assertEquals } from "@std/assert";
import { atOnce } from "../../../core/long_work.ts";
import { changeBytes, decodeChange, encodeChange, moveBy } from "../../../core/update/shown_change.ts";
import { gaussOf } from "../../support/small_gauss.ts";

const floats = 64 * 37;

function vectors(scale: number): { start: Float32Array; current: Float32Array } {
  const gauss = gaussOf(7);
  const start = Float32Array.from({ length: floats }, () => 0.02 * gauss());
  return { start, current: start.map((value) => value + scale * gauss()) };
}

Deno.test("Shown change: parameters are off by at most a 65,000th of their block's largest change, at any size of it", () => {
  for (const scale of [1e-30, 1e-6, 0.01, 1e20]) {
    const { start, current } = vectors(scale);
    const bytes = atOnce(encodeChange(start, current));
    assertEquals(bytes.length, changeBytes(floats));
    const change = atOnce(decodeChange(bytes, floats))!;
    for (let first = 0; first < floats; first += 64) {
      const real = Array.from({ length: 64 }, (_, i) => start[first + i]! - current[first + i]!);
      const most = Math.max(...real.map(Math.abs)) / 65_000;
      real.forEach((value, i) => assert(Math.abs(value - change[first + i]!) <= most, `${value} at ${scale}`));
    }
  }
});

Deno.test("Shown change: no change is exact, and half of the parameters' bytes", () => {
  const { start } = vectors(1);
  const moved = start.slice();
  const bytes = atOnce(encodeChange(start, start));
  assert(atOnce(moveBy(moved, bytes)));
  assertEquals([moved, bytes.length / start.byteLength < 0.51], [start, true]);
});

Deno.test("Shown change: bytes of another length are refused, and a scale beyond all numbers gives no number", () => {
  const { start, current } = vectors(1);
  const bytes = atOnce(encodeChange(start, current));
  assertEquals(atOnce(decodeChange(bytes.subarray(2), floats)), null);
  assertEquals(atOnce(decodeChange(bytes, floats - 64)), null);
  assertEquals(atOnce(moveBy(start.slice(), bytes.subarray(130))), false);
  bytes.set([0xff, 0x7f], 0);
  assert(!Number.isFinite(atOnce(decodeChange(bytes, floats))![0]));
  const none = atOnce(decodeChange(atOnce(encodeChange(start, current.fill(NaN))), floats))!;
  assert(none.every((value) => !Number.isFinite(value)), "what a broken device shows is seen as such");
});
