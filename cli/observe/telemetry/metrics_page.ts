/** `/metrics`, made at most every `freshMs`, and its dashboard `/grafana.json`. */

import type { ConsumerContext, ProjectionConsumer } from "../consumer.ts";
import { grafanaDashboard } from "./grafana.ts";
import { exposition, expositionType } from "./metric.ts";
import { RunCounts, runMetrics } from "./metric_table.ts";

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
