/** `/metrics`: what Prometheus reads is what the run's records say, whatever they hold, in a bounded number of series. */

import { assert, assertEquals, assertMatch } from "@std/assert";
import { main } from "../../../cli/command_line.ts";
import { exposition } from "../../../cli/observe/telemetry/metric.ts";
import { runMetrics } from "../../../cli/observe/telemetry/metric_table.ts";
import { nodeId, stageIndex } from "../../../core/ids.ts";
import { anyRecord } from "../../support/any_record.ts";
import { FakeHost } from "../../support/fake_host.ts";
import { sampleMiners, sampleRun } from "../../support/sample_run.ts";
import { servedRun } from "../../support/served_run.ts";
import { prngOf } from "../../support/small_prng.ts";
import { parseExposition } from "../../support/parse_exposition.ts";

Deno.test("Metrics: the page of a run parses back to what its records say", async () => {
  const run = servedRun();
  for (const { record } of sampleRun(40)) run.tell(record);
  run.tell({ type: "wire", forwardBytes: 16.1, backwardBytes: 16.5, bf16Bytes: 128 });
  const response = await run.get("/metrics");
  assertEquals(response.headers.get("content-type"), "text/plain; version=0.0.4; charset=utf-8");
  const read = parseExposition(await response.text());
  const value = (series: string) => read.values.get(series);
  assertEquals(value("iota_step"), 40);
  assertEquals(value("iota_steps"), 40);
  assertEquals(value("iota_loss_nats"), run.view.lossLast ?? undefined);
  assertEquals(value("iota_validation_loss_nats"), 6.4 - 0.7 * 4);
  assertEquals(value("iota_tokens_total"), 40 * 2_048);
  assertEquals(value("iota_step_duration_seconds"), 1.15);
  assertEquals(value('iota_members{role="miner",state="ready"}'), 5);
  assertEquals(value('iota_members{role="validator",state="ready"}'), 1);
  assertEquals(value(`iota_tasks_finished_total{miner="${sampleMiners[0]}"}`), 160);
  assertEquals(value('iota_verdicts_total{outcome="passed"}'), 3);
  assertEquals(value('iota_verdicts_total{outcome="failed"}'), 1);
  assertEquals(value("iota_merge_duration_seconds_sum"), 4 * 1.84);
  assertEquals(value("iota_merge_duration_seconds_count"), 4);
  assertEquals(value("iota_tasks_released_total"), 1);
  assertEquals(value('iota_wire_bytes_per_token{direction="backward"}'), 16.5);
  assertEquals(value('iota_refused_connections_total{code="notAdmitted"}'), 3);
  assertEquals(value('iota_phase{phase="training"}'), 1);
  assertEquals([...read.types.keys()], runMetrics.map(({ name }) => name));
});

Deno.test("Metrics: names carry units as Prometheus asks, and a total is a counter", () => {
  for (const { name, type, help } of runMetrics) {
    assertMatch(name, /^[a-z][a-z0-9_]*$/);
    assertEquals(name.endsWith("_total"), type === "counter", name);
    assert(help.endsWith(".") && help.length < 120, name);
    assert(!/_(ms|kb|mb|percent)(_|$)/.test(name), name);
  }
  assertEquals(new Set(runMetrics.map(({ name }) => name)).size, runMetrics.length);
});

Deno.test("Metrics: hostile names stay inside their label, and none writes a line of its own", async () => {
  const hostile = 'a"} 1\niota_step 999\n# HELP \\" \\';
  const run = servedRun({ facts: { run: hostile } });
  run.tell({ type: "faultSeen", node: null, code: hostile, detail: "x" });
  const read = parseExposition(await (await run.get("/metrics")).text());
  assertEquals(read.values.get("iota_step"), 0);
  assertEquals(read.labels.filter(({ run }) => run !== undefined).map(({ run }) => run), [hostile]);
  assertEquals(read.labels.filter(({ code }) => code === hostile).length, 1);
});

Deno.test("Metrics: any records give a page that parses", async () => {
  for (let seed = 1; seed <= 20; seed++) {
    const run = servedRun();
    const pick = prngOf(seed);
    for (let i = 0; i < 200; i++) run.tell(anyRecord(pick));
    parseExposition(await (await run.get("/metrics")).text());
  }
});

Deno.test("Metrics: ten thousand miners are a few hundred series, and no task is lost", async () => {
  const run = servedRun();
  const { record } = sampleRun(1).find(({ record }) => record.type === "taskFinished")!;
  for (let i = 0; i < 10_000; i++) {
    const node = nodeId(`5Miner${i}`);
    run.tell({ type: "nodeReady", node, stage: stageIndex(0), round: 0, parameters: "" } as never);
    run.tell({ ...record, node } as never);
  }
  const { values } = parseExposition(await (await run.get("/metrics")).text());
  assert(values.size < 400, `${values.size} series`);
  const tasks = [...values].filter(([series]) => series.startsWith("iota_tasks_finished_total"));
  assertEquals(tasks.reduce((sum, [, value]) => sum + value, 0), 10_000);
  assertEquals(values.get('iota_tasks_finished_total{miner="other"}'), 10_000 - 256);
});

Deno.test("Metrics: many who ask at once share one text", async () => {
  const run = servedRun();
  const first = await (await run.get("/metrics")).text();
  run.tell({ type: "warning", text: "x" });
  assertEquals(await (await run.get("/metrics")).text(), first);
  run.timers.advance(250);
  assert(await (await run.get("/metrics")).text() !== first);
});

Deno.test("Metrics: numbers that are none are written as the format asks", () => {
  const samples = [NaN, Infinity, -Infinity, 1e21, 0.1].map((value, i) => ({ value, labels: { i: String(i) } }));
  const text = exposition(
    [{ name: "x", type: "gauge", unit: null, help: "A \\ and\na line.", samples: () => samples }],
    null,
  );
  assertEquals(text.split("\n"), [
    "# HELP x A \\\\ and\\na line.",
    "# TYPE x gauge",
    'x{i="0"} NaN',
    'x{i="1"} +Inf',
    'x{i="2"} -Inf',
    'x{i="3"} 1e+21',
    'x{i="4"} 0.1',
    "",
  ]);
});

Deno.test("Metrics: iota help metrics lists exactly what /metrics serves, for people and for programs", async () => {
  const run = servedRun();
  for (const { record } of sampleRun(40)) run.tell(record);
  const { types } = parseExposition(await (await run.get("/metrics")).text());
  const programs = new FakeHost();
  assertEquals(await main(["help", "metrics", "--json"], programs), 0);
  const { metrics } = JSON.parse(programs.written.stdout) as { metrics: { name: string; type: string }[] };
  assertEquals(metrics.map(({ name, type }) => [name, type]), [...types]);

  const people = new FakeHost({ terminal: { columns: 100, rows: 24 } });
  assertEquals(await main(["help", "metrics", "--no-color"], people), 0);
  const listed = [...people.written.stdout.matchAll(/^ {2}([a-z0-9_]+)$|^ {2}([a-z0-9_]+) {2}/gm)];
  assertEquals(listed.map(([, alone, before]) => alone ?? before), [...types.keys()]);
});

Deno.test("Metrics: a unit in a metric's name is the unit that the help states", () => {
  const named = [["_seconds", "seconds"], ["_nats", "nats per token"], ["_bytes_total", "bytes"]] as const;
  for (const { name, unit } of runMetrics) {
    for (const [ending, stated] of named) if (name.endsWith(ending)) assertEquals(unit, stated, name);
    if (/_per_/.test(name)) assert(unit !== null, name);
  }
});
