/** A record log with lines that are JSON and stamped, but no records: each costs itself, and nobody who reads the log falls over it. */

import { assert, assertEquals, assertNotEquals } from "@std/assert";
import type { RunSnapshot } from "../../../cli/observe/public/public_shape.ts";
import { openPast } from "../../../cli/observe/history/past.ts";
import { RunHistory } from "../../../cli/observe/history/run_history.ts";
import { recordProblem } from "../../../cli/observe/projection/record_shape.ts";
import type { ViewRecord } from "../../../core/view/view_record.ts";
import { recordRun } from "../../support/record_folder.ts";
import { sampleRun } from "../../support/sample_run.ts";
import { withScratchFolder } from "../../support/scratch_folder.ts";

const types = [
  ...["warning", "noted", "faultSeen", "blamed", "taskReleased", "nodeLost", "verdict", "stepClosed", "nodeJoined"],
  ...["wire", "roundMerged", "opened", "takenUp", "runFinished", "stagesUnserved", "textSampled", "madeUp"],
];

Deno.test("Malformed records: every record of a run is one, without its fields or with one of another type it is none", () => {
  for (const { record } of sampleRun(40)) {
    assertEquals(recordProblem(JSON.parse(JSON.stringify(record))), null, record.type);
    assertNotEquals(recordProblem({ type: record.type }), null, record.type);
    const [name] = Object.keys(record).filter((key) => key !== "type");
    assertNotEquals(recordProblem({ ...record, [name!]: { odd: true } }), null, record.type);
  }
  for (const odd of [null, 5, "text", [], {}, { type: 5 }, { type: "__proto__" }, { type: "constructor" }]) {
    assertNotEquals(recordProblem(odd), null);
  }
});

Deno.test("Malformed records: each is counted and left out, moments before and after it are those of the run", async () => {
  await withScratchFolder(async (folder) => {
    const { last } = await recordRun(folder);
    const path = `${folder}/records.jsonl`;
    const atMs = 1_000_000;
    const lines = types.map((type, i) => JSON.stringify({ sequence: last + 1 + i, atMs, record: { type } }));
    const good: ViewRecord = { type: "warning", text: "the disk is nearly full" };
    lines.push(JSON.stringify({ sequence: last + 1 + types.length, atMs, record: good }));
    await Deno.writeTextFile(path, `${lines.join("\n")}\n`, { append: true });
    const seen: string[] = [];
    const history = new RunHistory(folder, { onRecord: ({ record }) => seen.push(record.type) });
    const span = await history.refresh();
    assertEquals([span.damaged, span.last], [types.length, last + types.length + 1]);
    assert(!seen.includes("madeUp"), "nobody is told of what is not a record");
    const past = openPast(history, folder);
    const moments: RunSnapshot[] = [];
    for (const at of [last, last + 3, span.last]) moments.push(JSON.parse((await past.at(at))!));
    for (const moment of moments.slice(1)) {
      assertEquals([moment.run.step, moment.members], [moments[0]!.run.step, moments[0]!.members]);
    }
    assertEquals(history.newest.view.news.filter(({ record }) => record.type === "warning").at(-1)?.record, good);
    await history.close();
  });
});
