/** A step's units in the signed log: they must be those of its tasks, by the cost of a stage that the entry states. */

import { assertEquals, assertMatch } from "@std/assert";
import { microbatchId, nodeId } from "../../../core/ids.ts";
import type { StepEntry } from "../../../core/ledger/entry.ts";
import { takeEntry } from "../../../core/ledger/ledger.ts";
import { openLedger } from "../../../core/ledger/ledger_state.ts";

/** Two microbatches through two stages; the tail's forward costs three times the head's. */
const step: StepEntry = {
  ...{ type: "step", step: 0, round: 0, loss: 4, unpaid: [], forwardUnits: [0.5, 1.5] },
  miners: ["5Head", "5Other", "5Tail"].map(nodeId),
  tasks: [3, 1, 2],
  units: [0.5 + 1 + 1, 0.5, 4.5 + 4.5],
  pathways: [
    { microbatch: microbatchId(0), doers: [0, 2, 0], loss: 4.5 },
    { microbatch: microbatchId(1), doers: [1, 2, 0], loss: 3.5 },
  ],
};

const problemWith = (changed: Partial<StepEntry>): string | null => takeEntry(openLedger(), { ...step, ...changed });

Deno.test("Ledger: a step's units are those of its tasks, and of dropped work beside them", () => {
  assertEquals(problemWith({}), null);
  assertEquals(problemWith({ units: [2.5, 2.5, 9], dropped: [0, 2, 0] }), null);
  const more = /^step 0 credits 5Other with 2.5 units instead of its tasks' 0.5$/;
  assertMatch(problemWith({ units: [2.5, 2.5, 9] }) ?? "", more);
  assertMatch(problemWith({ dropped: [0, 0, 1] }) ?? "", /credits 5Tail with 9 units instead of its tasks' 10/);
  assertMatch(problemWith({ forwardUnits: [1, 1] }) ?? "", /credits 5Head/);
  assertMatch(problemWith({ forwardUnits: [1] }) ?? "", /^a pathway of step 0 has 3 tasks instead of 1$/);
});

Deno.test("Ledger: what a forward is worth is one unit in the mean, and stays what the first step says", () => {
  const dear = { forwardUnits: [500, 1500], units: step.units.map((units) => 1000 * units) };
  assertMatch(
    problemWith(dear) ?? "",
    /^a forward of the mean stage is worth 1000 units in step 0 instead of one$/,
  );
  const ledger = openLedger();
  assertEquals(takeEntry(ledger, step), null);
  const cheap = { ...step, step: 1, forwardUnits: [1.5, 0.5], units: [1.5 + 3 + 3, 1.5, 3] };
  assertMatch(
    takeEntry(ledger, cheap) ?? "",
    /^step 1 counts forwards of the stages as \[1.5,0.5\] instead of \[0.5,1.5\]$/,
  );
  const { forwardUnits: _, ...without } = step;
  assertMatch(takeEntry(ledger, { ...without, step: 1 }) ?? "", /as \[nothing\] instead of/);
  const begun = { type: "begun", run: "r", hub: nodeId("5Hub"), step: 1, round: 1, isJournaled: true } as const;
  assertEquals(takeEntry(ledger, begun), null);
  assertMatch(takeEntry(ledger, cheap) ?? "", /instead of/);
  assertEquals(takeEntry(ledger, { ...begun, isJournaled: false }), null); // from a checkpoint, maybe in other stages
  assertEquals(takeEntry(ledger, { ...cheap, round: 1 }), null);
});

Deno.test("Ledger: a report is of its steps' round", () => {
  const ledger = openLedger();
  assertEquals(takeEntry(ledger, { ...step, round: 7 }), null);
  const report = { type: "round", round: 0, miners: step.miners, units: step.units, halved: [], expelled: [] } as const;
  assertMatch(
    takeEntry(ledger, report) ?? "",
    /^the report of round 0 comes before that of round 7, which has step 0$/,
  );
});

Deno.test("Ledger: a log of an earlier version, without the cost of a stage, is taken, and its rounds are not proven", () => {
  const { forwardUnits: _, ...earlier } = step;
  const ledger = openLedger();
  assertEquals(takeEntry(ledger, { ...earlier, units: [5, 1, 6] }), null);
  const report = { type: "round", round: 0, miners: step.miners, units: [5, 1, 6], halved: [], expelled: [] } as const;
  assertEquals([takeEntry(ledger, report), ledger.unproven], [null, 1]);
});
