/** `iota help metrics`: the table of metrics. */

import type { HelpTopic } from "../../terminal/command.ts";
import { runMetrics } from "./metric_table.ts";

export const topic: HelpTopic = {
  about:
    "The orchestrator serves /metrics for Prometheus at the port of its dashboard, and /grafana.json, a dashboard to import into Grafana. Totals count from the start of the orchestrator's process unless their meaning says otherwise. A metric has no sample before it was measured.",
  heading: "Metrics",
  rows: runMetrics.map(({ name, type, unit, help }) => [name, `${type}${unit === null ? "" : `, ${unit}`}. ${help}`]),
  fields: { metrics: runMetrics.map(({ name, type, unit, help }) => ({ name, type, unit, meaning: help })) },
};
