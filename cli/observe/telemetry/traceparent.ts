/** A span's name on the wire: https://www.w3.org/TR/trace-context/#traceparent-header, version 00. */

import { type Context, propagation, ROOT_CONTEXT, type Span, trace } from "@opentelemetry/api";

export function traceparentOf(span: Span): string {
  const carrier: Record<string, string> = {};
  propagation.inject(trace.setSpan(ROOT_CONTEXT, span), carrier);
  return carrier["traceparent"] ?? "";
}

/** The context of the span that the sender named; that of no span if the name is none. */
export const contextOf = (traceparent: string): Context => propagation.extract(ROOT_CONTEXT, { traceparent });
