/**
 * The orchestrator's part of a microbatch's trace: a span from its first task until its step is closed, and in it one
 * per lease. A task carries its lease's `traceparent` (W3C Trace Context), so that the miner's work joins. Only each
 * step's first microbatches are traced.
 */

import { type Context, ROOT_CONTEXT, type Span, SpanStatusCode, trace, type Tracer } from "@opentelemetry/api";
import type { MicrobatchId, NodeId, TaskId } from "../../../core/ids.ts";
import type { HubMessage, RunTask } from "../../../core/protocol/message.ts";
import type { RunRecord } from "../../../core/protocol/record.ts";
import { openTracer, traceparentOf } from "./tracing.ts";

const mostOfStep = 16; // microbatches

interface Traced {
  readonly span: Span;
  readonly context: Context;
}

export class HubTraces {
  readonly #tracer: Tracer;
  readonly #run: string;
  readonly #microbatches = new Map<MicrobatchId, Traced>();
  readonly #leases = new Map<TaskId, Span>();

  constructor({ tracer, run }: { tracer: Tracer; run: string }) {
    this.#tracer = tracer;
    this.#run = run;
  }

  named(message: HubMessage, node: NodeId): HubMessage {
    if (message.type !== "runTask") return message;
    const within = this.#microbatchOf(message);
    if (within === null) return message;
    const { task, stage, direction } = message;
    const attributes = { "iota.task": task, "iota.stage": stage, "iota.node": node };
    const span = this.#tracer.startSpan(`lease ${direction}`, { attributes }, within.context);
    this.#leases.get(task)?.end();
    this.#leases.set(task, span);
    return { ...message, trace: traceparentOf(span) };
  }

  onRecord(record: RunRecord): void {
    switch (record.type) {
      case "taskFinished":
        return this.#endLease(record.task, (span) => {
          if (record.computeMs !== undefined) span.setAttribute("iota.compute_ms", record.computeMs);
        });
      case "taskReleased":
        return this.#endLease(
          record.task,
          (span) => span.setStatus({ code: SpanStatusCode.ERROR, message: record.reason }),
        );
      case "stepClosed":
        return this.#endStep((span) => span.setAttributes({ "iota.loss": record.loss, "iota.round": record.round }));
      case "mergeRetaken":
      case "rewound":
        return this.#endStep((span) => span.setStatus({ code: SpanStatusCode.ERROR, message: "the step began anew" }));
      case "runFinished":
        return this.#endStep((span) => span.setStatus({ code: SpanStatusCode.ERROR, message: record.reason }));
    }
  }

  #microbatchOf({ microbatch, step }: RunTask): Traced | null {
    const known = this.#microbatches.get(microbatch);
    if (known !== undefined) return known;
    if (this.#microbatches.size >= mostOfStep) return null;
    const attributes = { "iota.run": this.#run, "iota.step": step + 1, "iota.microbatch": microbatch };
    const span = this.#tracer.startSpan("microbatch", { attributes, root: true });
    const traced = { span, context: trace.setSpan(ROOT_CONTEXT, span) };
    this.#microbatches.set(microbatch, traced);
    return traced;
  }

  #endLease(task: TaskId, note: (span: Span) => void): void {
    const span = this.#leases.get(task);
    if (span === undefined) return;
    this.#leases.delete(task);
    note(span);
    span.end();
  }

  #endStep(note: (span: Span) => void): void {
    for (const span of this.#leases.values()) span.end();
    for (const { span } of this.#microbatches.values()) {
      note(span);
      span.end();
    }
    this.#leases.clear();
    this.#microbatches.clear();
  }
}

/** Null: this process does not trace. */
export function openHubTraces(run: string): HubTraces | null {
  const tracer = openTracer();
  return tracer === null ? null : new HubTraces({ tracer, run });
}
