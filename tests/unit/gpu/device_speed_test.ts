/** What a device is measured by: batches of anything, attention, and what an adapter can do at most. */

import { assert, assertEquals, assertRejects } from "@std/assert";
import { attentionFlops } from "../../../gpu/speed/attention_speed.ts";
import { measureBatches } from "../../../gpu/speed/batch_speed.ts";
import { openComputeWorker } from "../../../gpu/worker_client.ts";

const sizes = { sequences: 2, length: 8, heads: 4, kvHeads: 2, headWidth: 16 };

Deno.test("Speed: batches grow, and at least one is measured whatever the budget", async () => {
  const batches: number[] = [];
  const run = (times: number) => {
    batches.push(times);
    return Promise.resolve();
  };
  const speed = await measureBatches({ units: 3, run }, 0);
  assertEquals(batches, [1]);
  assert(speed.perSecond > 0 && speed.perCpuSecond > 0);
  const enough = new Error("three batches are enough");
  const thrice = async (times: number) => {
    await run(times);
    if (batches.length === 4) throw enough;
  };
  await assertRejects(() => measureBatches({ units: 3, run: thrice }, 3_600_000));
  assertEquals(batches.slice(1), [1, 8, 64]);
});

Deno.test("Speed: attention counts what the causal mask leaves", () => {
  const products = 2 * 4 * 16 * (8 * 9 / 2) * 2; // sequences, heads, head width, pairs, a multiply-add is two
  assertEquals(attentionFlops({ pass: "forward", ...sizes }), 2 * products);
  assertEquals(attentionFlops({ pass: "backward", ...sizes }), 5 * products);
});

Deno.test("Speed: the processor has attention and limits", async () => {
  const cpu = await openComputeWorker({ device: "cpu" });
  for (const pass of ["forward", "backward"] as const) {
    assert((await cpu.measureAttention({ budgetMs: 5, task: { pass, ...sizes } }))!.perCpuSecond > 0);
  }
  const { copy, upload, readBack, multiplyAdds, ...costs } = (await cpu.measureAdapter(120))!;
  assert([copy, upload, readBack].every(({ perSecond, perCpuSecond }) => perSecond > 0 && perCpuSecond > 0));
  assert(costs.dispatchMicroseconds > 0 && costs.roundTripMs > 0);
  assert(multiplyAdds.perSecond > 0 && multiplyAdds.perCpuSecond > 0);
  cpu.close();
});

Deno.test("Speed: attention is measured on several threads, too", async () => {
  const cpu = await openComputeWorker({ device: "cpu", threads: 2 });
  const task = { pass: "backward", ...sizes } as const;
  assert((await cpu.measureAttention({ budgetMs: 5, task }))!.perSecond > 0);
  cpu.close();
});
