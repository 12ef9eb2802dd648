/** What the log's reports may credit, halve and take back: all of it follows from the rounds' steps. */

import { assert, assertEquals, assertMatch } from "@std/assert";
import type { MachineEntry, RoundEntry } from "../../../core/ledger/entry.ts";
import { scoresEntry, takeEntry } from "../../../core/ledger/ledger.ts";
import { carriedState, type Ledger, ledgerOf, openLedger, pastRounds } from "../../../core/ledger/ledger_state.ts";
import { gapBefore } from "../../../cli/observe/ledger/missing_entries.ts";
import { caveatsOf } from "../../../cli/observe/ledger/verify_text.ts";
import { withMemoryFolder } from "../../support/scratch_folder.ts";
import {
  entriesOf,
  headOf,
  left,
  linesIn,
  openLog,
  pathIn,
  rewrite,
  right,
  roundEntry,
  stepEntry,
  verified,
  write,
} from "../../support/written_ledger.ts";

Deno.test("Ledger: a report may give half of the pay, or that of the last steps, and nothing else", () =>
  withMemoryFolder(async (folder) => {
    for (
      const [units, halved, isRight] of [
        [[18, 9], [], true],
        [[18, 4.5], [right], true],
        [[18, 6], [], true], // the pay of the first step was lost
        [[18, 0], [], false],
        [[18, 4.5], [], false],
        [[18, 10], [], false],
      ] as const
    ) {
      Deno.removeSync(folder, { recursive: true });
      Deno.mkdirSync(folder);
      const { log } = await openLog(folder);
      log.begin({ step: 0, round: 0, isJournaled: false });
      for (const entry of [stepEntry(0), stepEntry(1), stepEntry(2), roundEntry(0, [...units], halved)]) {
        log.take(entry);
      }
      log.close();
      assertEquals((await verified(folder)).wrong?.line ?? null, isRight ? null : 5, `${units}`);
    }
  }));

const reportWith = (round: number, others: Pick<RoundEntry, "forfeits" | "isLast">): MachineEntry => ({
  ...{ type: "round", round, miners: [left, right], units: [18, 9], halved: [], expelled: [], ...others },
});
const forfeits = (fromRound: number) => ({ forfeits: [{ miner: right, fromRound }] });

Deno.test("Ledger: a report may take back unvested pay, and only that", () =>
  withMemoryFolder(async (folder) => {
    for (
      const [fromRound, why] of [
        [1, null],
        [5, null],
        [0, new RegExp(`^round 5 takes back the pay of ${right} from round 0 on, but all before round 1 has vested$`)],
      ] as const
    ) {
      Deno.removeSync(folder, { recursive: true });
      Deno.mkdirSync(folder);
      const { log } = await openLog(folder);
      log.begin({ step: 0, round: 0, isJournaled: false });
      for (const entry of entriesOf({ to: 5 })) log.take(entry);
      for (const step of [15, 16, 17]) log.take(stepEntry(step));
      log.take(reportWith(5, forfeits(fromRound)));
      log.close();
      const found = (await verified(folder)).wrong?.why ?? null;
      if (why === null) assertEquals(found, null, `${fromRound}`);
      else assertMatch(found ?? "", why);
    }
  }));

Deno.test("Ledger: a log's next file carries on unvested pay", () => {
  const before = openLedger();
  const take = (ledger: Ledger, entries: readonly MachineEntry[]) => {
    for (const entry of entries) assertEquals(takeEntry(ledger, entry), null);
  };
  const steps = (round: number) => [0, 1, 2].map((i) => stepEntry(3 * round + i));
  for (let round = 0; round < 3; round++) take(before, [...steps(round), roundEntry(round)]);
  const after = ledgerOf(carriedState(before));
  take(after, [...steps(3), reportWith(3, forfeits(1))]);
  assertEquals(scoresEntry(after).scores, [0, 0]);
  take(after, [...steps(4), reportWith(4, { isLast: true })]);
  assertEquals(scoresEntry(after).scores, [5 * 18, 3 * 9]);
  assertEquals(scoresEntry(ledgerOf(carriedState(after))).scores, [5 * 18, 3 * 9]);
});

Deno.test("Ledger: an orchestrator without its journal whose log has lost lines that its head proves says so and goes on behind them", async () => {
  for (const left of [7, 0]) {
    await withMemoryFolder(async (folder) => {
      await write(folder, { to: 3 });
      const lines = linesIn(folder);
      const missing = headOf(lines.at(-2)!).line - left;
      rewrite(folder, lines.slice(0, left));
      const { log, warnings } = await openLog(folder);
      log.begin({ step: 9, round: 3, isJournaled: false });
      for (const entry of entriesOf({ from: 3, to: 4 })) log.take(entry);
      log.close();
      assertMatch(warnings.join(), new RegExp(`lacks at least ${missing} lines? at its end`));
      const { wrong, lostLines, unprovenRounds, foreignHead } = await verified(folder);
      assertEquals([wrong, lostLines, unprovenRounds, foreignHead], [null, missing, 0, null]);
    });
  }
});

Deno.test("Ledger: with its journal an orchestrator writes the lost lines again, and has nothing to say", () =>
  withMemoryFolder(async (folder) => {
    await write(folder, { to: 3 });
    rewrite(folder, linesIn(folder).slice(0, 7));
    const { log, warnings } = await openLog(folder);
    for (const entry of entriesOf({ to: 3 })) log.replay(entry);
    log.begin({ step: 9, round: 3, isJournaled: true });
    log.close();
    const { wrong, lostLines, rounds } = await verified(folder);
    assertEquals([warnings, wrong, lostLines, rounds], [[], null, 0, 3]);
  }));

Deno.test("Ledger: a head of another run beside the log is named", () =>
  withMemoryFolder(async (folder) => {
    await write(folder, { to: 1 });
    const path = `${pathIn(folder)}.head`;
    const head = JSON.parse(Deno.readTextFileSync(path));
    Deno.writeTextFileSync(path, JSON.stringify({ ...head, run: "other" }));
    const found = await verified(folder);
    assertEquals([found.wrong, found.foreignHead], [null, "other"]);
    assertMatch(caveatsOf(found).join(), /head beside the log is of another run, other/);
  }));

Deno.test("Ledger: who is banned stays so from the line that says it, before any report does", () => {
  const ledger = openLedger();
  for (const entry of entriesOf({ to: 1 })) assertEquals(takeEntry(ledger, entry), null);
  takeEntry(ledger, { type: "left", node: left, reason: "asked" });
  assertEquals(pastRounds(ledger).expelled, []);
  takeEntry(ledger, { type: "left", node: left, reason: "a lie", isExpelled: true });
  assertEquals(pastRounds(ledgerOf(carriedState(ledger))).expelled, [left]);
});

Deno.test("Ledger: wherever a power cut ends the log and the journal begins, the log goes on, follows and says what it lacks", async () => {
  for (const from of [0, 1, 2, 3]) {
    for (const left of [0, 3, 7, 12]) {
      await withMemoryFolder(async (folder) => {
        await write(folder, { to: 3 });
        rewrite(folder, linesIn(folder).slice(0, left));
        const { log } = await openLog(folder);
        for (const entry of entriesOf({ from, to: 3 })) log.replay(entry);
        log.begin({ step: 9, round: 3, isJournaled: true });
        for (const entry of entriesOf({ from: 3, to: 4 })) log.take(entry);
        log.close();
        const { wrong, lostLines, unprovenRounds, rounds } = await verified(folder);
        const what = `from round ${from}, ${left} lines left`;
        assertEquals(wrong, null, what);
        assert(rounds >= 4 || lostLines > 0 || unprovenRounds > 0, what);
      });
    }
  }
});

Deno.test("Ledger: a log whose new file could not be begun goes on from the full one", () =>
  withMemoryFolder(async (folder) => {
    await write(folder, { to: 3 });
    Deno.renameSync(pathIn(folder), `${pathIn(folder)}.1`);
    const { log, warnings } = await openLog(folder);
    assertEquals(log.past.reports.length, 3);
    log.begin({ step: 9, round: 3, isJournaled: false });
    for (const entry of entriesOf({ from: 3, to: 4 })) log.take(entry);
    log.close();
    const { wrong, lostLines, rounds } = await verified(folder);
    assertEquals([warnings, wrong, lostLines, rounds], [[], null, 0, 4]);
  }));

Deno.test("Ledger: of a file that only carries the state on the journal's entries are known from the one before", () =>
  withMemoryFolder(async (folder) => {
    await write(folder, { to: 3 });
    Deno.renameSync(pathIn(folder), `${pathIn(folder)}.1`);
    const { log: second } = await openLog(folder);
    second.begin({ step: 9, round: 3, isJournaled: true });
    second.close();
    rewrite(folder, linesIn(folder).slice(0, 1));
    const { log } = await openLog(folder);
    for (const entry of entriesOf({ from: 2, to: 3 })) log.replay(entry);
    log.begin({ step: 9, round: 3, isJournaled: true });
    for (const entry of entriesOf({ from: 3, to: 4 })) log.take(entry);
    log.close();
    const { wrong, lostLines, rounds } = await verified(folder);
    assertEquals([wrong, lostLines, rounds], [null, 0, 4]);
  }));

Deno.test("Ledger: a gap is a step or a report that neither the log nor the journal has", () => {
  const left = { type: "left", node: right, reason: "asked" } as const;
  const open = [{ step: 3, round: 1, units: new Map() }, { step: 4, round: 1, units: new Map() }];
  const undone = { type: "undone", toStep: 3, reason: "all are gone" } as const;
  for (
    const [entries, end, gap] of [
      [[], { step: 5, round: 1 }, null],
      [[left], { step: 5, round: 1 }, null],
      [[stepEntry(5), roundEntry(1)], { step: 6, round: 2 }, null],
      [[roundEntry(1)], { step: 5, round: 2 }, null],
      [[undone, stepEntry(3)], { step: 4, round: 1 }, null],
      [[], { step: 6, round: 1 }, { step: 6, round: 1 }], // a step
      [[], { step: 5, round: 2 }, { step: 5, round: 2 }], // a report
      [[stepEntry(6), roundEntry(2)], { step: 7, round: 3 }, { step: 6, round: 2 }], // both
      [[undone, stepEntry(4)], { step: 5, round: 1 }, { step: 4, round: 1 }],
    ] as const
  ) assertEquals(gapBefore({ nextStep: 5, open }, { entries, end }), gap, JSON.stringify([entries, end]));
});
