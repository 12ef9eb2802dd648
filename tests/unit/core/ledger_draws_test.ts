/** The key of a round's draws: committed to before its first step, revealed at its end, the same in both. */

import { assertEquals, assertMatch } from "@std/assert";
import { microbatchId, nodeId } from "../../../core/ids.ts";
import type { LogEntry } from "../../../core/ledger/entry.ts";
import { takeEntry } from "../../../core/ledger/ledger.ts";
import { carriedState, ledgerOf, openLedger } from "../../../core/ledger/ledger_state.ts";
import { sha256 } from "../../../core/sha256.ts";

const key = "ab".repeat(32);
const commits = (round: number, of = key): LogEntry => ({ type: "draws", round, hash: sha256(of) });
const reveals = (of = key): LogEntry => ({ type: "merged", round: 1, parameters: [], draws: of });
const step: LogEntry = {
  ...{ type: "step", step: 0, round: 0, loss: 5, miners: [nodeId("5Miner")], tasks: [1], units: [3], unpaid: [] },
  pathways: [{ microbatch: microbatchId(0), doers: [0], loss: 5 }],
};
const begun = (isJournaled: boolean): LogEntry => ({
  ...{ type: "begun", run: "demo", hub: nodeId("5Hub"), step: 0, round: 0, isJournaled },
});

function problems(entries: readonly LogEntry[]): { found: string[]; proven: number } {
  const ledger = openLedger();
  const found = entries.flatMap((entry) => takeEntry(ledger, entry) ?? []);
  return { found, proven: ledger.drawsProven };
}

Deno.test("Draws: a key that was committed to before the round's first step is proven when it is revealed", () => {
  assertEquals(problems([commits(0), step, reveals()]), { found: [], proven: 1 });
  assertEquals(problems([commits(0), step, begun(true), commits(0), reveals()]), { found: [], proven: 1 });
});

Deno.test("Draws: another key, one committed to twice, and one committed to late do not follow", () => {
  assertMatch(
    problems([commits(0), step, reveals("cd".repeat(32))]).found[0] ?? "",
    /is not the one that was committed to/,
  );
  assertMatch(problems([commits(0), commits(0, "cd"), step]).found[0] ?? "", /committed to before/);
  assertMatch(problems([step, commits(0), reveals()]).found[0] ?? "", /after its first step/);
});

Deno.test("Draws: a log without a commitment, or of a process without its journal, proves none and is not wrong", () => {
  assertEquals(problems([step, reveals()]), { found: [], proven: 0 });
  assertEquals(problems([commits(0), begun(false), commits(0, "cd"), reveals("cd")]), { found: [], proven: 1 });
});

Deno.test("Draws: what a full file carries on holds the commitment of the open round", () => {
  const ledger = openLedger();
  takeEntry(ledger, commits(0));
  const next = ledgerOf(JSON.parse(JSON.stringify(carriedState(ledger))));
  assertEquals(takeEntry(next, reveals()), null);
  assertEquals(next.drawsProven, 1);
});
