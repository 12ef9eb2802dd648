/** Exact elementary functions against Math, and their bits, which must be the same on every engine. */

import { assert, assertEquals, assertThrows } from "@std/assert";
import { exponential, logarithm, sineAndCosine, wholePower } from "../../../core/exact_math.ts";

const between = (from: number, to: number) => Array.from({ length: 20_001 }, (_, i) => from + (to - from) * i / 20_000);

function worst(values: readonly number[], error: (x: number) => number): number {
  return values.reduce((most, x) => Math.max(most, error(x)), 0);
}

Deno.test("Exact math: e^x, ln x, sine, cosine and powers agree with Math to the last bits", () => {
  const relative = (own: number, right: number) => Math.abs(own / right - 1);
  assert(worst(between(-700, 700), (x) => relative(exponential(x), Math.exp(x))) < 1e-15);
  const spread = between(-1000, 1000).map((exponent) => 2 ** exponent);
  const ofLog = (x: number) => Math.abs(logarithm(x) - Math.log(x)) / (1 + Math.abs(Math.log(x)));
  assert(worst([...spread, ...between(0.5, 2)], ofLog) < 1e-15);
  for (const most of [1, 100, 2 ** 20]) {
    assert(worst(between(-most, most), (x) => Math.abs(sineAndCosine(x).sine - Math.sin(x))) < 1e-15);
    assert(worst(between(-most, most), (x) => Math.abs(sineAndCosine(x).cosine - Math.cos(x))) < 1e-15);
  }
  assert(worst([0, 1, 2, 3, 10, 999, 12_345], (n) => relative(wholePower(0.999, n), 0.999 ** n)) < 1e-12);
});

Deno.test("Exact math: the bits of a thousand results are those of every engine", async () => {
  const values = Array.from({ length: 250 }, (_, i) => 0.37 * i + 0.01);
  const results = values.flatMap((x) => {
    const { sine, cosine } = sineAndCosine(1000 * x);
    return [exponential(x), logarithm(x), sine, cosine];
  });
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", Float64Array.from(results)));
  assertEquals(digest.slice(0, 8).toHex(), "ed1fc2efba398618");
});

Deno.test("Exact math: what it is not made for is refused", () => {
  assertThrows(() => exponential(701));
  assertThrows(() => logarithm(0));
  assertThrows(() => logarithm(NaN));
  assertThrows(() => sineAndCosine(2 ** 21));
  assertThrows(() => wholePower(2, 0.5));
});
