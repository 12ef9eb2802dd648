/** The Grafana file asks only for metrics and labels that `/metrics` has. */

import { assert, assertEquals } from "@std/assert";
import { grafanaDashboard } from "../../../cli/observe/telemetry/grafana.ts";
import { RunCounts, runMetrics } from "../../../cli/observe/telemetry/metric_table.ts";
import { foldAt, openedView, sampleRun } from "../../support/sample_run.ts";

const { panels } = JSON.parse(grafanaDashboard()) as {
  panels: { id: number; gridPos: { x: number; w: number }; targets: { expr: string; legendFormat: string }[] }[];
};

Deno.test("Grafana: every query names a metric of the table, and a rate one that only grows", () => {
  const metrics = new Map(runMetrics.map((metric) => [metric.name, metric]));
  for (const { expr } of panels.flatMap(({ targets }) => targets)) {
    const names = expr.match(/iota_\w+/g) ?? [];
    assert(names.length > 0, expr);
    for (const name of names) {
      const metric = metrics.get(name.replace(/_(sum|count)$/, ""));
      assert(metric !== undefined, `${name} is not a metric`);
      assertEquals(expr.includes(`rate(${name}[`), metric.type !== "gauge", expr);
    }
  }
});

Deno.test("Grafana: every label in a legend is one of the metric's", () => {
  const view = openedView();
  const counts = new RunCounts();
  for (const { record, atMs } of sampleRun(40)) {
    foldAt(view, record, atMs);
    counts.add(record);
  }
  foldAt(view, { type: "wire", forwardBytes: 1, backwardBytes: 1, bf16Bytes: 2 }, 1);
  counts.add({ type: "faultSeen", node: null, code: "a", detail: "" });
  const source = { view, counts, refused: { total: 1, byCode: { notAdmitted: 1 } } };
  for (const { expr, legendFormat } of panels.flatMap(({ targets }) => targets)) {
    const metric = runMetrics.find(({ name }) => expr.includes(name));
    const labels = Object.keys(metric!.samples(source)[0]?.labels ?? {});
    for (const [, label] of legendFormat.matchAll(/\{\{(\w+)\}\}/g)) {
      assert(labels.includes(label!), `${legendFormat}: ${expr} has ${labels}`);
    }
  }
});

Deno.test("Grafana: panels have different numbers and stay within the page", () => {
  assertEquals(new Set(panels.map(({ id }) => id)).size, panels.length);
  for (const { gridPos: { x, w } } of panels) assert(x + w <= 24);
});
