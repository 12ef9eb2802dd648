/** `iota experiment replays`: what counts as the same bits, and as a value that flipped. */

import { assertEquals } from "@std/assert";
import { areEqual, computeTask, flips, openTask } from "../../../cli/experiment/replays/replay_tasks.ts";
import { checkedStages } from "../../../cli/doctor/numbers_check.ts";
import { createCpuStage } from "../../../gpu/cpu/cpu_stage.ts";

Deno.test("Replays: a task has its own bits each time, another task others, in every kind of stage", async () => {
  for (const spec of checkedStages("toy", "none")) {
    const stage = await openTask(spec, (own) => createCpuStage(own, { optimizer: null }));
    const [first, again, other] = [
      await computeTask(stage, 0),
      await computeTask(stage, 0),
      await computeTask(stage, 1),
    ];
    assertEquals([areEqual(first, again), areEqual(first, other)], [true, false]);
    assertEquals(flips(spec, first, again).flipped, 0);
    stage.close();
  }
});

Deno.test("Replays: one changed bit is not equal, and is one flipped value", async () => {
  const [head, body] = checkedStages("toy", "none");
  for (const spec of [head!, body!]) {
    const stage = await openTask(spec, (own) => createCpuStage(own, { optimizer: null }));
    const result = await computeTask(stage, 0);
    stage.close();
    const output = result.output!.slice();
    output[0]! ^= 1;
    const changed = { ...result, output };
    assertEquals(areEqual(result, changed), false);
    const { values, flipped } = flips(spec, result, changed);
    const wires = spec === head ? 1 : 2; // a head sends no gradient
    assertEquals([flipped, values], [1, wires * output.length / 4]);
  }
});
