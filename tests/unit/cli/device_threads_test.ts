/** How many threads a node takes of its machine's processor, and how that reads. */

import { assertEquals } from "@std/assert";
import { deviceText, openDevice, threadsOf } from "../../../cli/device/open_device.ts";

Deno.test("Threads: a machine's cores are shared between its nodes, at least one and at most 16 for each", () => {
  const cases = [[1, 2], [7, 2], [2, 8], [3, 8], [1, 64], [9, 64]] as const;
  assertEquals(cases.map(([nodes, cores]) => threadsOf(nodes, cores)), [2, 1, 4, 2, 16, 7]);
});

Deno.test("Threads: the device says how many it has, if there are several", async () => {
  for (
    const [threads, text] of [[1, "processor (WebAssembly SIMD)"], [
      2,
      "processor (WebAssembly SIMD), 2 threads",
    ]] as const
  ) {
    const worker = await openDevice("cpu", { threads });
    assertEquals(deviceText(worker), text);
    worker.close();
  }
});
