/** What the log's reports may credit, halve and defer: all of it follows from the round's steps. */

import { assertEquals, assertMatch } from "@std/assert";
import type { MachineEntry } from "../../../core/ledger/entry.ts";
import { carriedState, ledgerOf, openLedger, takeEntry } from "../../../core/ledger/ledger.ts";
import { withMemoryFolder } from "../../support/scratch_folder.ts";
import { left, openLog, right, roundEntry, stepEntry, verified } from "../../support/written_ledger.ts";

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

/** Two rounds; of the first, the report defers one miner's credit. The line that does not follow. */
async function wrongWith(folder: string, { deferred, units }: { deferred: number; units: readonly number[] }) {
  Deno.removeSync(folder, { recursive: true });
  Deno.mkdirSync(folder);
  const { log } = await openLog(folder);
  log.begin({ step: 0, round: 0, isJournaled: false });
  const first: MachineEntry = {
    type: "round",
    round: 0,
    halved: [],
    expelled: [],
    miners: [left],
    units: [18],
    deferred: { miners: [right], units: [deferred] },
  };
  for (const step of [0, 1, 2]) log.take(stepEntry(step));
  log.take(first);
  for (const step of [3, 4, 5]) log.take(stepEntry(step));
  log.take(roundEntry(1, [...units]));
  log.close();
  return (await verified(folder)).wrong?.why ?? null;
}

Deno.test("Ledger: what a report defers adds to the next or is forfeited, and both follow from the steps", () =>
  withMemoryFolder(async (folder) => {
    for (
      const [deferred, units, why] of [
        [9, [18, 18], null],
        [9, [18, 9], null], // one of them is forfeited
        [9, [18, 15], null], // what the first step earned was lost
        [6, [18, 15], null],
        [10, [18, 19], /^round 0 must defer what .* earned in the round's steps, 9: it defers 10$/],
        [9, [18, 20], /^round 1 must credit .* in the round's steps, 18: it has 20$/],
        [9, [27, 18], /^round 1 must credit .* in the round's steps, 18: it has 27$/],
      ] as const
    ) {
      const found = await wrongWith(folder, { deferred, units });
      if (why === null) assertEquals(found, null, `${units}`);
      else assertMatch(found ?? "", why);
    }
  }));

Deno.test("Ledger: a log's next file carries on what was deferred", () => {
  const before = openLedger();
  const first: MachineEntry = { type: "round", round: 0, halved: [], expelled: [], miners: [left], units: [18] };
  for (const entry of [stepEntry(0), stepEntry(1), stepEntry(2)]) assertEquals(takeEntry(before, entry), null);
  assertEquals(takeEntry(before, { ...first, deferred: { miners: [right], units: [9] } }), null);
  const after = ledgerOf(carriedState(before));
  for (const entry of [stepEntry(3), stepEntry(4), stepEntry(5)]) assertEquals(takeEntry(after, entry), null);
  assertEquals(takeEntry(after, roundEntry(1, [18, 18])), null);
  for (const entry of [stepEntry(6), stepEntry(7), stepEntry(8)]) assertEquals(takeEntry(after, entry), null);
  assertMatch(takeEntry(after, roundEntry(2, [18, 18])) ?? "", /must credit .*, 9: it has 18$/); // only once
});
