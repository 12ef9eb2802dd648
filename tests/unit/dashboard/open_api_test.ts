/** The OpenAPI document, and that every answer is as it says. */

import { assert, assertEquals } from "@std/assert";
import * as v from "valibot";
import { refusalShape, snapshotShape, spanShape } from "../../../cli/observe/public/public_shape.ts";
import { runSnapshot } from "../../../cli/observe/public/public_run.ts";
import { anyRecord } from "../../support/any_record.ts";
import { RunHistory } from "../../../cli/observe/history/run_history.ts";
import { recordRun } from "../../support/record_folder.ts";
import { foldAt, openedView, sampleRun } from "../../support/sample_run.ts";
import { withScratchFolder } from "../../support/scratch_folder.ts";
import { servedRun } from "../../support/served_run.ts";
import { prngOf } from "../../support/small_prng.ts";

const isOf = (schema: v.GenericSchema, value: unknown) => {
  const { issues } = v.safeParse(schema, JSON.parse(JSON.stringify(value)));
  assertEquals(issues?.map((issue) => `${v.getDotPath(issue)}: ${issue.message}`), undefined);
};

Deno.test("OpenAPI: every state of a run, and of any records, has exactly the fields of the schema", async () => {
  const view = openedView();
  for (const { record, atMs } of sampleRun(40)) {
    foldAt(view, record, atMs);
    if (record.type !== "taskFinished") isOf(snapshotShape, runSnapshot(view, { sequence: 1, atMs }));
  }
  const pick = prngOf(11);
  for (let i = 0; i < 500; i++) foldAt(view, anyRecord(pick), i);
  isOf(snapshotShape, runSnapshot(view, { sequence: 1, atMs: 1 }));
  assert(!v.is(snapshotShape, { ...runSnapshot(view, { sequence: 1, atMs: 1 }), more: 1 }));
  await withScratchFolder(async (folder) => {
    await recordRun(folder, { steps: 2 });
    const history = new RunHistory(folder);
    isOf(spanShape, await history.refresh());
    await history.close();
  });
});

const isOfLog = (path: string) =>
  ["past", "pathway", "member", "earnings", "beside"].some((name) => path === `/api/v1/${name}`);

Deno.test("OpenAPI: the document names only paths that are served, and every reference is in it", async () => {
  const run = servedRun();
  const text = await (await run.get("/api/v1/openapi.json")).text();
  const document = JSON.parse(text);
  for (const path of Object.keys(document.paths)) {
    assert(run.paths.includes(path) || isOfLog(path), path);
  }
  for (const [, name] of text.matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
    assert(name! in document.components.schemas);
  }
  const { Run } = document.components.schemas;
  assertEquals(Run.required, ["version", "sequence", "atMs", "run", "members", "conduct", "paces", "validators"]);
  assertEquals(Run.properties.run.properties.wire.anyOf[1], { type: "null" });
  assertEquals(Run.properties.atMs.description, "milliseconds since 1970, wall clock");
  const viewers = await Promise.all(Array.from({ length: 64 }, () => run.get("/events")));
  isOf(refusalShape, await (await run.get("/events")).json());
  run.close();
  for (const { body } of viewers) await body?.cancel();
});
