/**
 * `/metrics` at the orchestrator's port, for Prometheus, and `/grafana.json`, a dashboard of it to import into Grafana.
 *
 * Owns: when the text is made: at most every `freshMs`, however often it is asked for.
 */

import type { ConsumerContext, ProjectionConsumer } from "../consumer.ts";
import { grafanaDashboard } from "./grafana.ts";
import { exposition, expositionType } from "./metric.ts";
import { runMetrics } from "./metric_table.ts";
import { RunCounts } from "./run_counts.ts";

const freshMs = 250;

export function openMetricsPage({ view, refused, timers }: ConsumerContext): ProjectionConsumer {
  const counts = new RunCounts();
  let made: { readonly text: string; readonly atMs: number } | null = null;
  const text = (): string => {
    const atMs = timers.steadyMs();
    if (made === null || atMs - made.atMs >= freshMs) {
      made = { text: exposition(runMetrics, { view, counts, refused: refused() }), atMs };
    }
    return made.text;
  };
  const headers = { "content-type": expositionType, "cache-control": "no-store", "x-content-type-options": "nosniff" };
  return {
    onRecord: ({ record }) => counts.add(record),
    pages: {
      "/metrics": () => new Response(text(), { headers }),
      "/grafana.json": () => new Response(grafanaDashboard(), { headers: { "content-type": "application/json" } }),
    },
  };
}
