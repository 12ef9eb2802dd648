/**
 * Traces by OpenTelemetry: Deno exports them itself when it is started with OTEL_DENO=true (cli/observe/README.md).
 *
 * Owns the tracer, and whether anything is traced: nothing else in cli knows where spans go. Without OTEL_DENO there is none,
 * and no message or record costs more than before.
 */

import { trace, type Tracer } from "@opentelemetry/api";
import { version } from "../../program/version.ts";

/** Null: this process does not trace. */
export function openTracer(): Tracer | null {
  const tracer = trace.getTracer("iota", version);
  const probe = tracer.startSpan("iota.started");
  const isOn = probe.isRecording();
  probe.end();
  return isOn ? tracer : null;
}
