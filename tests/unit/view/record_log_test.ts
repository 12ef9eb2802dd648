/** The record log: folding it gives the live view, over restarts, turned files, torn lines and full disks. */

import { assert, assertEquals, assertMatch } from "@std/assert";
import { emptyView, type RunView } from "../../../core/view/view.ts";
import { TerminalOutput } from "../../../cli/terminal/output/output.ts";
import { projectionConsumers } from "../../../cli/orchestrator/run/consumers.ts";
import { Projection } from "../../../cli/observe/projection/projection.ts";
import { openRecordLog, readRecordLog, type RecordLogOptions } from "../../../cli/observe/projection/record_log.ts";
import { diskWithRoom } from "../../support/disk_with_room.ts";
import { FakeHost } from "../../support/fake_host.ts";
import { ManualTimers } from "../../support/net/manual_timers.ts";
import { sampleFacts, sampleRun } from "../../support/sample_run.ts";
import { withScratchFolder } from "../../support/scratch_folder.ts";

interface Life {
  readonly run: Projection;
  readonly timers: ManualTimers;
  readonly warnings: string[];
}

async function live(folder: string, options: Partial<RecordLogOptions> = {}): Promise<Life> {
  const timers = new ManualTimers();
  const warnings: string[] = [];
  const records = await openRecordLog({ folder, timers, warn: (text) => warnings.push(text), ...options });
  const output = new TerminalOutput({
    host: new FakeHost(),
    json: true,
    quiet: false,
    verbose: false,
    noColor: true,
  });
  const run = new Projection({
    output,
    opened: { facts: sampleFacts, startedAtMs: 0, step: 0 },
    nowMs: () => timers.nowMs(),
    records,
    consumers: projectionConsumers,
  });
  return { run, timers, warnings };
}

/** The sample run from one record to another, each at its time. */
function tell({ run, timers }: Life, { from = 0, to = Infinity }: { from?: number; to?: number } = {}): void {
  const records = sampleRun(40).slice(from, to);
  let lastMs = records[0]?.atMs ?? 0;
  for (const { record, atMs } of records) {
    timers.advance(atMs - lastMs);
    lastMs = atMs;
    run.tell(record);
  }
}

async function foldedIn(folder: string): Promise<RunView> {
  const { view, problem } = await readRecordLog(folder);
  assertEquals(problem, null);
  return view;
}

function linesOf(path: string): { sequence: number; record?: { type: string }; view?: RunView; lost?: number }[] {
  return Deno.readTextFileSync(path).trimEnd().split("\n").map((line) => JSON.parse(line));
}

Deno.test("Record log: folding it gives the live view, also over a restart that goes on with the sequence", () =>
  withScratchFolder(async (folder) => {
    const first = await live(folder);
    tell(first, { to: 400 });
    first.run.close();
    assertEquals(await foldedIn(folder), first.run.view);
    const second = await live(folder);
    assertEquals(second.run.view.losses, first.run.view.losses);
    second.run.tell({ type: "takenUp", step: 17, round: 1 });
    tell(second, { from: 400 });
    second.run.close();
    assertEquals(await foldedIn(folder), second.run.view);
    const sequences = linesOf(`${folder}/records.jsonl`).map(({ sequence }) => sequence);
    assertEquals(sequences, sequences.map((_, i) => i + 1));
    assertEquals(second.warnings, []);
  }));

Deno.test("Record log: records are written in groups, and what waits is lost with its process alone", () =>
  withScratchFolder(async (folder) => {
    const life = await live(folder);
    const path = `${folder}/records.jsonl`;
    life.run.tell({ type: "warning", text: "one" });
    assertEquals(await readRecordLog(folder), { view: emptyView(), sequence: 0, problem: null });
    life.timers.advance(100);
    assertEquals(linesOf(path).map(({ record }) => record?.type), ["opened", "warning"]);
    life.run.tell({ type: "warning", text: "of a process that is killed" });
    assertEquals((await live(folder)).run.view.news, []);
  }));

Deno.test("Record log: a torn last line is passed over, and cut when the next life begins", () =>
  withScratchFolder(async (folder) => {
    const first = await live(folder);
    tell(first, { to: 100 });
    first.run.close();
    const path = `${folder}/records.jsonl`;
    await Deno.writeTextFile(path, '{"sequence":102,"atMs":5,"record":{"type":"warn', { append: true });
    assertEquals(await foldedIn(folder), first.run.view);
    const second = await live(folder);
    tell(second, { from: 100, to: 200 });
    second.run.close();
    assertEquals(linesOf(path).length, 202); // with what opens each life
    assertEquals(await foldedIn(folder), second.run.view);
  }));

Deno.test("Record log: a full file turns, all of them are bounded, and each can be folded alone", () =>
  withScratchFolder(async (folder) => {
    const fileBytes = 100_000;
    const life = await live(folder, { fileBytes });
    for (let i = 0; i < 5; i++) tell(life);
    life.run.close();
    const names = [...Deno.readDirSync(folder)].map(({ name }) => name).sort();
    assertEquals(names, ["records.jsonl", "records.jsonl.1", "records.jsonl.2", "records.jsonl.3"]);
    for (const name of names) {
      assert((await Deno.stat(`${folder}/${name}`)).size < 1.3 * fileBytes, name);
      assert(linesOf(`${folder}/${name}`)[0]!.view !== undefined, name);
    }
    assertEquals(await foldedIn(folder), life.run.view);
    await Deno.remove(`${folder}/records.jsonl`); // as when a process dies between turning and writing
    const next = await live(folder);
    assert(next.run.view.losses.values.length > 0);
  }));

Deno.test("Record log: a full disk costs records, says so twice, and the view afterwards is whole", () =>
  withScratchFolder(async (folder) => {
    const room = { bytes: 30_000 };
    const life = await live(folder, { disk: diskWithRoom(room) });
    tell(life, { to: 400 });
    assertEquals(life.warnings.length, 1);
    assertMatch(
      life.warnings[0]!,
      /^Records cannot be written to .*records\.jsonl'; the run continues without them: No space/,
    );
    room.bytes = 1e9;
    tell(life, { from: 400 });
    life.run.close();
    assertEquals(life.warnings.length, 2);
    assertMatch(life.warnings[1]!, /are written to .* again; \d+ are missing$/);
    const lost = /(\d+) are missing/.exec(life.warnings[1]!)?.[1];
    const lines = Deno.readTextFileSync(`${folder}/records.jsonl`).split("\n").filter((line) =>
      line.includes('"lost"')
    );
    assertEquals(lines.map((line) => String(JSON.parse(line).lost)), [lost]);
    assertEquals(await foldedIn(folder), life.run.view);
  }));

Deno.test("Record log: one that cannot be read costs the history, is said, and is whole again in the next life", () =>
  withScratchFolder(async (folder) => {
    const path = `${folder}/records.jsonl`;
    const broken = [
      '{"sequence":7,"atMs":5,"record":{"type":"roundMerged"}}\n',
      '{"sequence":7,"atMs":5,"view":{"facts":3}}\n',
    ];
    for (const text of broken) {
      await Deno.writeTextFile(path, text);
      const life = await live(folder);
      assertEquals(life.warnings.length, 1);
      assertMatch(life.warnings[0]!, /^The run's history is not shown because /);
      assertEquals(life.run.view.facts, sampleFacts);
      tell(life, { to: 50 });
      life.run.close();
      assertEquals(await foldedIn(folder), life.run.view);
      assert(linesOf(path)[1]!.view !== undefined);
      assertEquals((await live(folder)).warnings, []);
    }
    await Deno.writeTextFile(path, "not json\n[1]\nnull\n");
    assertEquals((await live(folder)).warnings, []);
    const folderInPlace = `${folder}/other`;
    await Deno.mkdir(`${folderInPlace}/records.jsonl`, { recursive: true });
    const life = await live(folderInPlace);
    tell(life, { to: 50 });
    assertEquals(life.warnings.length, 2);
  }));

Deno.test("Record log: a view that an earlier version wrote, before stages could be unserved, is read", async () => {
  await withScratchFolder(async (folder) => {
    const { unserved: _, ...before } = { ...emptyView(), step: 7 };
    await Deno.writeTextFile(`${folder}/records.jsonl`, `${JSON.stringify({ sequence: 9, atMs: 1, view: before })}\n`);
    assertEquals(await foldedIn(folder), { ...emptyView(), step: 7 });
  });
});
