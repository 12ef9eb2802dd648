/** A node's traces: a task that never ends, as those of a lost session, must not keep later ones from being traced. */

import { assertEquals } from "@std/assert";
import type { Span, Tracer } from "@opentelemetry/api";
import { TaskTraces } from "../../../cli/observe/telemetry/task_traces.ts";
import { microbatchId, stageIndex, type TaskId } from "../../../core/ids.ts";

Deno.test("Task traces: of any number of tasks without a result the newest are open, and each span ends", () => {
  let [begun, ended] = [0, 0];
  const startSpan = (): Partial<Span> => {
    begun += 1;
    return { addEvent: () => {}, setAttribute: () => {}, setStatus: () => {}, end: () => ended += 1 } as never;
  };
  const traces = new TaskTraces({ tracer: { startSpan } as Partial<Tracer> as Tracer, node: "me" });
  const trace = `00-${"1".repeat(32)}-${"2".repeat(16)}-01`;
  const taskOf = (i: number) => `${i}.0.forward.0` as TaskId;
  for (let i = 0; i < 3_000; i++) {
    const of = { microbatch: microbatchId(i), stage: stageIndex(0), direction: "forward", step: 0 } as const;
    traces.received({ type: "runTask", task: taskOf(i), ...of, trace });
  }
  assertEquals([begun, begun - ended], [3_000, 1_024]);
  traces.sent({ type: "taskDone", task: taskOf(2_999), losses: null, computeMs: 1 });
  assertEquals(begun - ended, 1_023);
});
