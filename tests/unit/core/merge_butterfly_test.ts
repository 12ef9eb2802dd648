/** Slices and reducers of a merge: cut, dealt, and what that costs in traffic. */

import { assert, assertEquals, assertThrows } from "@std/assert";
import { assignReducers, pairCount, type ReducerPair, sliceLayout } from "../../../core/update/butterfly.ts";
import { keyOf, openStream, type Stream } from "../../../core/prng.ts";

const streamOf = (...labels: (string | number)[]): Stream => openStream(keyOf(1, "merge test", ...labels));

// ------------------------------------------------------------------------------------------------------------ slices

Deno.test("Slices: in order, without gap or overlap, multiples of 64 floats, of one size to 64", () => {
  for (const length of [64, 128, 64 * 7, 64 * 100, 64 * 4321, 64 * 1_234_567]) {
    for (let contributors = 1; contributors <= 12; contributors++) {
      const slices = sliceLayout({ length, contributors });
      let end = 0;
      for (const { offset, size } of slices) {
        assertEquals([offset, size % 64], [end, 0]);
        assert(size > 0);
        end = offset + size;
      }
      assertEquals(end, length);
      const sizes = slices.map(({ size }) => size);
      assert(Math.max(...sizes) - Math.min(...sizes) <= 64);
    }
  }
});

Deno.test("Slices: one for every pair, a multiple when they would be large, fewer when the vector is short", () => {
  const cases: [options: Parameters<typeof sliceLayout>[0], count: number][] = [
    [{ length: 64 * 1000, contributors: 1 }, 1],
    [{ length: 64 * 1000, contributors: 2 }, 1],
    [{ length: 64 * 1000, contributors: 3 }, 3],
    [{ length: 64 * 1000, contributors: 12 }, 66],
    [{ length: 10 * 2 ** 24, contributors: 3 }, 12], // 4 a pair
    [{ length: 10 * 2 ** 24, contributors: 2 }, 10],
    [{ length: 64 * 10, contributors: 12 }, 10],
    [{ length: 64, contributors: 3 }, 1],
    [{ length: 500_000_000 - 256, contributors: 3 }, 30], // of 67 MB each
  ];
  for (const [options, count] of cases) assertEquals(sliceLayout(options).length, count, JSON.stringify(options));
});

Deno.test("Slices: a vector that is not a multiple of 64, or has no replicas, is our bug", () => {
  assertThrows(() => sliceLayout({ length: 100, contributors: 3 }), Error, "and is 100");
  assertThrows(() => sliceLayout({ length: 0, contributors: 3 }), Error, "and is 0");
  assertThrows(() => sliceLayout({ length: 64, contributors: 0 }), Error, "contributor");
});

// ---------------------------------------------------------------------------------------------------------- reducers

function loadsOf(pairs: readonly ReducerPair[], miners: number): number[] {
  return Array.from({ length: miners }, (_, miner) => pairs.filter((pair) => pair.includes(miner)).length);
}

/** How many slices each pair shares. */
function countsOf(pairs: readonly ReducerPair[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const pair of pairs) counts.set(pair.join(), (counts.get(pair.join()) ?? 0) + 1);
  return counts;
}

Deno.test("Reducers: two different miners a slice, no pair and no miner two more than another, for any number of slices", () => {
  for (let miners = 2; miners <= 12; miners++) {
    for (let slices = 1; slices <= 2 * pairCount(miners) + 3; slices++) {
      const pairs = assignReducers({ slices, miners, stream: streamOf(miners, slices) });
      assertEquals(pairs.length, slices);
      for (const [a, b] of pairs) assert(0 <= a && a < b && b < miners, `${a}, ${b} of ${miners}`);
      const loads = loadsOf(pairs, miners);
      assert(Math.max(...loads) - Math.min(...loads) <= 1, `${miners} miners, ${slices} slices: ${loads}`);
      const most = Math.ceil(slices / pairCount(miners));
      for (const [pair, count] of countsOf(pairs)) {
        assert(count <= most, `${miners} miners, ${slices} slices: ${count} for ${pair}`);
      }
    }
  }
});

Deno.test("Reducers: every pair owns as many slices as any other when slices are a multiple of the pairs", () => {
  for (let miners = 2; miners <= 12; miners++) {
    for (const multiple of [1, 2, 5]) {
      const slices = multiple * pairCount(miners);
      const counts = countsOf(assignReducers({ slices, miners, stream: streamOf(miners) }));
      assertEquals(counts.size, pairCount(miners));
      assertEquals(new Set(counts.values()), new Set([multiple]));
    }
  }
});

Deno.test("Reducers: two reduce everything both, one reduces nothing", () => {
  assertEquals(assignReducers({ slices: 3, miners: 2, stream: streamOf() }), [[0, 1], [0, 1], [0, 1]]);
  assertEquals(assignReducers({ slices: 3, miners: 1, stream: streamOf() }), []);
});

Deno.test("Reducers: of fewer slices than pairs, the first ones go to miners that no order of a tournament gives away", () => {
  const firstDay = (label: number) =>
    assignReducers({ slices: 6, miners: 6, stream: streamOf("order", label) }).slice(0, 3);
  const met = Array.from({ length: 20 }, (_, label) => new Set(firstDay(label).flat()).size);
  assert(met.some((miners) => miners < 6), `the first 3 slices always go to 6 miners: ${met}`);
});

Deno.test("Reducers: the same stream gives the same pairs, another one others", () => {
  const pairs = (label: string) => assignReducers({ slices: 45, miners: 10, stream: streamOf(label) });
  assertEquals(pairs("a"), pairs("a"));
  assert(JSON.stringify(pairs("a")) !== JSON.stringify(pairs("b")));
});
