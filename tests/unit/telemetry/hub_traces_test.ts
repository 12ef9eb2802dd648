/** The orchestrator's traces: how many microbatches of a step have one, and that every span ends, whatever becomes of the step. */

import { assertEquals } from "@std/assert";
import type { Span, Tracer } from "@opentelemetry/api";
import { microbatchId, nodeId, stageIndex, type TaskId } from "../../../core/ids.ts";
import type { RunRecord } from "../../../core/protocol/record.ts";
import { HubTraces } from "../../../cli/observe/telemetry/hub_traces.ts";

/** Spans by name, as they begin and end. */
function traced() {
  const [begun, ended]: string[][] = [[], []];
  const startSpan = (name: string): Partial<Span> => {
    begun!.push(name);
    return {
      setAttribute: () => {},
      setAttributes: () => {},
      setStatus: () => {},
      end: () => ended!.push(name),
    } as never;
  };
  const tracer = { startSpan } as Partial<Tracer> as Tracer;
  return { traces: new HubTraces({ tracer, run: "run" }), begun: begun!, ended: ended! };
}

const node = nodeId("5GwwafEZ5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQY");

function lease(traces: HubTraces, microbatch: number, attempt = 0): void {
  const task = `${microbatch}.0.forward.${attempt}` as TaskId;
  const of = { microbatch: microbatchId(microbatch), stage: stageIndex(0), direction: "forward", step: 0 } as const;
  traces.named({ type: "runTask", task, ...of }, node);
}

const closed: RunRecord = {
  ...{ type: "stepClosed", step: 1, steps: 2, round: 0, loss: 5, learningRate: 1, gradientNorm: 1, clipFactor: 1 },
  ...{ tokens: 1, stepMs: 1 },
};

Deno.test("Traces: of a step sixteen microbatches are traced, and as many of the next", () => {
  const { traces, begun } = traced();
  for (let i = 0; i < 40; i++) lease(traces, i);
  assertEquals([begun.filter((name) => name === "microbatch").length, begun.length], [16, 32]);
  traces.onRecord(closed);
  lease(traces, 40);
  assertEquals(begun.length, 34);
});

Deno.test("Traces: a lease ends with its result or when it is released, and all that is open with its step", () => {
  for (const end of [closed, { type: "runFinished", step: 0, finished: false, reason: "enough" } as const]) {
    const { traces, begun, ended } = traced();
    lease(traces, 0);
    traces.onRecord({ type: "taskReleased", task: "0.0.forward.0" as TaskId, node, reason: "late" });
    assertEquals(ended, ["lease forward"]);
    lease(traces, 0, 1);
    lease(traces, 1);
    traces.onRecord(end);
    assertEquals(ended.toSorted(), begun.toSorted());
  }
});

Deno.test("Traces: a message that is not a task, and one beyond the sixteenth microbatch, are sent as they are", () => {
  const { traces } = traced();
  const message = { type: "cancelTasks", tasks: [] } as const;
  assertEquals(traces.named(message, node), message);
});
