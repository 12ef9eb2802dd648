/** A node's part of a microbatch's trace: a span per task with a `traceparent`, until its result is sent. */

import { type Span, SpanStatusCode, type Tracer } from "@opentelemetry/api";
import type { TaskId } from "../../../core/ids.ts";
import type { HubMessage, NodeMessage } from "../../../core/protocol/message.ts";
import { contextOf } from "./tracing.ts";

const mostOpen = 1024; // tasks of a lost session never end

export class TaskTraces {
  readonly #tracer: Tracer;
  readonly #node: string;
  readonly #open = new Map<TaskId, Span>();

  constructor({ tracer, node }: { tracer: Tracer; node: string }) {
    this.#tracer = tracer;
    this.#node = node;
  }

  received(message: HubMessage): void {
    if (message.type === "cancelTasks") {
      for (const task of message.tasks) this.#end(task, (span) => span.addEvent("cancelled"));
    }
    if (message.type !== "runTask" || message.trace === undefined) return;
    const { task, stage, direction, trace } = message;
    const attributes = { "iota.task": task, "iota.stage": stage, "iota.node": this.#node };
    this.#end(task, () => {});
    const [oldest] = this.#open.keys();
    if (oldest !== undefined && this.#open.size >= mostOpen) this.#end(oldest, (span) => span.addEvent("forgotten"));
    this.#open.set(task, this.#tracer.startSpan(`compute ${direction}`, { attributes }, contextOf(trace)));
  }

  sent(message: NodeMessage): void {
    if (message.type === "taskDone") {
      this.#end(message.task, (span) => span.setAttribute("iota.compute_ms", message.computeMs));
    }
    if (message.type === "taskFailed") {
      this.#end(message.task, (span) => span.setStatus({ code: SpanStatusCode.ERROR, message: message.fault.detail }));
    }
  }

  #end(task: TaskId, note: (span: Span) => void): void {
    const span = this.#open.get(task);
    if (span === undefined) return;
    this.#open.delete(task);
    note(span);
    span.end();
  }
}
