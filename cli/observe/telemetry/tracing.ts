/** OpenTelemetry traces, for a Deno that starts with OTEL_DENO=true: it exports them. Any other has no tracer. */

import { type Context, propagation, ROOT_CONTEXT, type Span, trace, type Tracer } from "@opentelemetry/api";
import { version } from "../../program/version.ts";

/** Null: this process does not trace. */
export function openTracer(): Tracer | null {
  const tracer = trace.getTracer("iota", version);
  const probe = tracer.startSpan("iota.started");
  const isOn = probe.isRecording();
  probe.end();
  return isOn ? tracer : null;
}

/** https://www.w3.org/TR/trace-context/#traceparent-header, version 00. */
export function traceparentOf(span: Span): string {
  const carrier: Record<string, string> = {};
  propagation.inject(trace.setSpan(ROOT_CONTEXT, span), carrier);
  return carrier["traceparent"] ?? "";
}

/** Without a span if `traceparent` is invalid. */
export const contextOf = (traceparent: string): Context => propagation.extract(ROOT_CONTEXT, { traceparent });
