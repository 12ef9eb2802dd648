/**
 * The Grafana dashboard of `/metrics`. A test checks every query against the table of metrics. Grafana asks for the
 * data source on import.
 */

interface Panel {
  readonly title: string;
  readonly unit: string;
  readonly queries: Readonly<Record<string, string>>;
}

const panels: readonly Panel[] = [
  {
    title: "Loss",
    unit: "none",
    queries: { training: "iota_loss_nats", "held-out text": "iota_validation_loss_nats" },
  },
  { title: "Steps", unit: "none", queries: { closed: "iota_step", "of the run": "iota_steps" } },
  { title: "Throughput", unit: "suffix: tokens/s", queries: { tokens: "iota_tokens_per_second" } },
  { title: "Step time", unit: "s", queries: { "last step": "iota_step_duration_seconds" } },
  { title: "Members", unit: "none", queries: { "{{role}} {{state}}": "iota_members" } },
  {
    title: "Microbatches in flight",
    unit: "none",
    queries: { "stage {{stage}} {{direction}}": "iota_microbatches_in_flight" },
  },
  { title: "Stages without a miner", unit: "none", queries: { stages: "iota_stages_unserved" } },
  {
    title: "Wire",
    unit: "bytes",
    queries: { "{{direction}}, a token": "iota_wire_bytes_per_token" },
  },
  { title: "Bytes a second", unit: "Bps", queries: { "{{kind}}": "rate(iota_port_bytes_total[1m])" } },
  {
    title: "Merges",
    unit: "s",
    queries: {
      "mean of five minutes": "rate(iota_merge_duration_seconds_sum[5m]) / rate(iota_merge_duration_seconds_count[5m])",
    },
  },
  { title: "Merge upload", unit: "bytes", queries: { "each miner": "iota_merge_bytes_per_miner" } },
  { title: "Audits a minute", unit: "none", queries: { "{{outcome}}": "60 * rate(iota_verdicts_total[5m])" } },
  {
    title: "Tasks a minute, the ten busiest miners",
    unit: "none",
    queries: { "{{miner}}": "topk(10, 60 * rate(iota_tasks_finished_total[5m]))" },
  },
  {
    title: "Trouble a minute",
    unit: "none",
    queries: {
      "tasks taken back": "60 * rate(iota_tasks_released_total[5m])",
      "fault {{code}}": "60 * rate(iota_faults_total[5m])",
      warnings: "60 * rate(iota_warnings_total[5m])",
      "refused: {{code}}": "60 * rate(iota_refused_connections_total[5m])",
    },
  },
];

const columns = 2;
const [width, height] = [24 / columns, 8];

export function grafanaDashboard(): string {
  const source = { type: "prometheus", uid: "${DS_PROMETHEUS}" };
  return `${
    JSON.stringify(
      {
        __inputs: [{ name: "DS_PROMETHEUS", label: "Prometheus", type: "datasource", pluginId: "prometheus" }],
        title: "iota",
        uid: "iota-run",
        schemaVersion: 39,
        refresh: "10s",
        time: { from: "now-1h", to: "now" },
        panels: panels.map(({ title, unit, queries }, i) => ({
          id: i + 1,
          title,
          type: "timeseries",
          datasource: source,
          gridPos: { x: (i % columns) * width, y: Math.floor(i / columns) * height, w: width, h: height },
          fieldConfig: { defaults: { unit }, overrides: [] },
          targets: Object.entries(queries).map(([legendFormat, expr], j) => ({
            refId: String.fromCharCode(65 + j),
            datasource: source,
            ...{ expr, legendFormat },
          })),
        })),
      },
      null,
      2,
    )
  }\n`;
}
