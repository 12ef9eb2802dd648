/** `iota bench` alone: what a device can hold and how fast, on the processor, and the words for it. */

import { carriedMiners } from "../../../cli/tools/bench/hub_bench.ts";
import { assert, assertEquals } from "@std/assert";
import { type SizeWorth, worthOfSizes } from "../../../cli/tools/bench/size_worth.ts";
import { rangesText, worthText } from "../../../cli/tools/bench/worth_bench.ts";
import { openComputeWorker } from "../../../gpu/worker_client.ts";

const { signal } = new AbortController();

Deno.test("Worth: a small size is measured, larger ones are estimated from its speed, what fits is planned", async () => {
  const worker = await openComputeWorker({ device: "cpu" });
  try {
    const sizes: SizeWorth[] = [];
    const memory = { memoryBytes: 600 * 2 ** 20 };
    for await (const worth of worthOfSizes({ worker, adapter: "cpu", memory, signal }, ["toy", "100m", "1b"])) {
      sizes.push(worth);
    }
    const [toy, hundred, billion] = sizes as [SizeWorth, SizeWorth, SizeWorth];
    assertEquals([toy.holds, toy.isMeasured, toy.fitsWithStages], [[0, 1, 2], true, null]);
    assert(toy.tokensPerSecond! > 0 && toy.linkBytesPerToken > 0 && toy.largestBytes < 600 * 2 ** 20);
    assert(hundred.holds.length < hundred.stages && !(hundred.isMeasured && hundred.holds.length === 0));
    assertEquals([billion.holds, billion.tokensPerSecond, billion.largestBytes], [[], null, 0]);
  } finally {
    worker.close();
  }
});

const worth: SizeWorth = {
  ...{ size: "3b", stages: 5, holds: [1, 2, 3], fitsWithStages: 7, largestBytes: 2 ** 34, isMeasured: false },
  ...{ tokensPerSecond: 1234.4, linkBytesPerToken: 1024 },
};

Deno.test("Worth: a row says what fits, what would, and that a speed is estimated", () => {
  const row = (changes: Partial<SizeWorth>) => worthText({ ...worth, ...changes }).replaceAll(/ {2,}/g, "  ");
  assertEquals(row({}), "3b  3 of 5 (1-3); all of 7  16.0 GiB  ~1,234  1.2 MiB/s");
  assertEquals(row({ holds: [0, 1, 2, 3, 4], isMeasured: true }), "3b  any of 5  16.0 GiB  1,234  1.2 MiB/s");
  const nothing = { holds: [], fitsWithStages: null, largestBytes: 0, tokensPerSecond: null };
  assertEquals(row(nothing), "3b  none of 5  -  -  -");
});

Deno.test("Worth: stages are named in ranges", () => {
  assertEquals([rangesText([0, 1, 2, 5]), rangesText([3]), rangesText([])], ["0-2, 5", "3", ""]);
});

Deno.test("Bench: twice the relay carries twice the miners, and a larger model's miners need less of it", () => {
  const [small, large] = [carriedMiners("1b", 1e8), carriedMiners("1b", 2e8)];
  assert(small > 0 && Math.abs(large - 2 * small) <= 1, `${small}, ${large}`);
  assert(carriedMiners("3b", 1e8) > small);
});
