/** Moments of a run from its record log: whole, rotated, growing, torn and damaged. */

import { assert, assertEquals } from "@std/assert";
import { RunHistory } from "../../../cli/observe/history/run_history.ts";
import { openRecordLog } from "../../../cli/observe/projection/record_log.ts";
import { fold } from "../../../core/view/fold.ts";
import { ManualTimers } from "../../support/net/manual_timers.ts";
import { type RecordedRun, recordRun } from "../../support/record_folder.ts";
import { withScratchFolder } from "../../support/scratch_folder.ts";
import { prngOf } from "../../support/small_prng.ts";

const unseen = { gaps: [], missing: 0, damaged: 0 };

async function sameAsLive(history: RunHistory, { live }: RecordedRun, sequences: readonly number[]): Promise<void> {
  for (const sequence of sequences) {
    const text = await history.at(sequence, (moment) => {
      assertEquals([moment.sequence, moment.isDoubtful], [sequence, false]);
      return JSON.stringify(moment.view);
    });
    assertEquals(JSON.parse(text!), JSON.parse(live.get(sequence)!));
  }
}

Deno.test("History: every moment is the view that was live, forward, backward and at random", async () => {
  await withScratchFolder(async (folder) => {
    const run = await recordRun(folder);
    const history = new RunHistory(folder, { indexBytes: 2 ** 16 });
    const { first, last, ...rest } = await history.refresh();
    assertEquals([first, last, rest.gaps, rest.missing, rest.damaged], [1, run.last, [], 0, 0]);
    const all = [...run.live.keys()];
    await sameAsLive(history, run, all);
    await sameAsLive(history, run, all.toReversed().filter((_, i) => i % 17 === 0));
    const pick = prngOf(5);
    await sameAsLive(history, run, Array.from({ length: 100 }, () => 1 + pick(run.last)));
    await history.close();
  });
});

Deno.test("History: the files of a rotated log are one run, and what is no longer kept is not shown", async () => {
  await withScratchFolder(async (folder) => {
    const run = await recordRun(folder, { fileBytes: 30_000 });
    const history = new RunHistory(folder);
    const { first, last, ...rest } = await history.refresh();
    assert(first > 1 && last === run.last, `${first} to ${last}`);
    assertEquals({ gaps: rest.gaps, missing: rest.missing, damaged: rest.damaged }, unseen);
    const all = [...run.live.keys()].filter((sequence) => sequence >= first);
    assert(all.length > 100);
    await sameAsLive(history, run, all);
    assertEquals(await history.at(1, ({ sequence }) => sequence), first);
    assertEquals(await history.at(1e9, ({ sequence }) => sequence), last);
    await history.close();
  });
});

Deno.test("History: a log that grows and begins new files while it is read loses no moment", async () => {
  await withScratchFolder(async (folder) => {
    const timers = new ManualTimers();
    const { log, view } = await openRecordLog({
      folder,
      timers,
      warn: (text) => assert(false, text),
      fileBytes: 5_000,
    });
    const history = new RunHistory(folder);
    const live = new Map<number, string>();
    let sequence = 0;
    for (let turn = 0; turn < 40; turn++) {
      for (let i = 0; i < 9; i++) {
        sequence += 1;
        const entry = { sequence, atMs: sequence, record: { type: "warning", text: `number ${sequence}` } } as const;
        fold(view, entry);
        log.append(entry, view);
        live.set(sequence, JSON.stringify(view));
      }
      log.flush();
      const { first, last, gaps } = await history.refresh();
      assertEquals([last, gaps], [sequence, []]);
      await sameAsLive(history, { live, last }, [last, Math.max(first, last - 8)]);
    }
    assert((await history.refresh()).first > 1);
    log.close();
    await history.close();
  });
});

Deno.test("History: another run in the same folder replaces the first", async () => {
  await withScratchFolder(async (folder) => {
    await recordRun(folder);
    const history = new RunHistory(folder);
    await history.refresh();
    await Deno.remove(`${folder}/records.jsonl`);
    const run = await recordRun(folder, { steps: 3, facts: { run: "second" } });
    assertEquals((await history.refresh()).last, run.last);
    await sameAsLive(history, run, [1, run.last]);
    await history.close();
  });
});

Deno.test("History: damage and a torn end cost what they damaged, and are counted", async () => {
  await withScratchFolder(async (folder) => {
    const run = await recordRun(folder, { fileBytes: 60_000 });
    const path = `${folder}/records.jsonl.1`;
    const lines = (await Deno.readTextFile(path)).split("\n");
    lines[20] = "\0".repeat(200);
    lines[30] = '{"sequence":5,"atMs":1,"record":{"type":"roundMerged"}}'; // of another version, and too old to count
    lines.splice(40, 3);
    await Deno.writeTextFile(path, lines.join("\n"));
    await Deno.writeTextFile(`${folder}/records.jsonl`, '{"sequence":99', { append: true });
    const history = new RunHistory(folder);
    const { last, gaps, missing, damaged } = await history.refresh();
    assertEquals([last, missing, damaged], [run.last, 5, 1]);
    assertEquals(gaps.map(({ from, to }) => to - from + 1), [1, 1, 3]);
    const isDoubtful = (sequence: number) => history.at(sequence, (moment) => moment.isDoubtful);
    assertEquals([await isDoubtful(gaps[0]!.from - 1), await isDoubtful(gaps[2]!.to + 1)], [false, true]);
    await sameAsLive(history, run, [last]); // the newest file begins with a view
    await history.close();
  });
});

Deno.test("History: a folder without a log, or with any bytes in it, gives no moment and no error", async () => {
  await withScratchFolder(async (folder) => {
    const history = new RunHistory(folder);
    const { first, last } = await history.refresh();
    assertEquals([first, last, await history.at(1, () => 1)], [0, 0, null]);
    const pick = prngOf(9);
    await Deno.writeFile(`${folder}/records.jsonl`, Uint8Array.from({ length: 5_000 }, () => pick(256)));
    const { last: none, damaged } = await history.refresh();
    assert(none === 0 && damaged > 0);
    await Deno.writeTextFile(
      `${folder}/records.jsonl`,
      `\n{"sequence":1,"atMs":1,"record":{"type":"opened","facts":{"layersOfStages":7}}}\n`,
    );
    assertEquals(await history.at(1, ({ view, isDoubtful }) => [view.stages, isDoubtful]), [[], true]);
    await history.close();
  });
});
