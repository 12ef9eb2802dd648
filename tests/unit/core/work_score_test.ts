/** From reports of work and failed audits to scores. */

import { assertEquals } from "@std/assert";
import { type NodeId, nodeId } from "../../../core/ids.ts";
import {
  bookVerdict,
  bookWork,
  type Forfeit,
  openWorkBook,
  roundsBooked,
  roundsInWindow,
  roundsUntilDue,
  scoresOf,
  type WorkBook,
} from "../../../core/score/work_score.ts";

const [a, b, c] = ["a", "b", "c"].map(nodeId) as [NodeId, NodeId, NodeId];

/** Each miner's units, in one report. */
function report(
  book: WorkBook,
  { round, units, forfeits = [], isLast = false }: {
    round: number;
    units: Partial<Record<"a" | "b" | "c", number>>;
    forfeits?: readonly Forfeit[];
    isLast?: boolean;
  },
): void {
  bookWork(book, { round, miners: Object.keys(units).map(nodeId), units: Object.values(units), forfeits, isLast });
}

const scores = (book: WorkBook) => scoresOf(book).map(({ score }) => score);

Deno.test("Work score: units of the window's rounds add up, and a report that comes twice counts once", () => {
  const book = openWorkBook();
  report(book, { round: 0, units: { b: 4, a: 8 } });
  for (let times = 0; times < 2; times++) report(book, { round: 1, units: { a: 3 }, isLast: true });
  assertEquals(scoresOf(book), [{ miner: a, score: 11 }, { miner: b, score: 4 }]);
});

Deno.test("Work score: parts of a large swarm's report are one report", () => {
  const book = openWorkBook();
  report(book, { round: 5, units: { a: 1 }, isLast: true });
  report(book, { round: 5, units: { b: 2 }, isLast: true });
  assertEquals(scoresOf(book), [{ miner: a, score: 1 }, { miner: b, score: 2 }]);
});

Deno.test("Work score: a round vests some rounds later, or with the last report", () => {
  const book = openWorkBook();
  const seen: number[] = [];
  for (let round = 0; round <= roundsBooked; round++) {
    report(book, { round, units: { a: 1 } });
    seen.push(...scores(book));
  }
  const rising = Array.from({ length: roundsInWindow }, (_, i) => i + 1);
  assertEquals(seen, [...new Array(roundsUntilDue).fill(0), ...rising, roundsInWindow]);
  report(book, { round: roundsBooked + 1, units: {}, isLast: true });
  assertEquals(scores(book), [roundsInWindow], "the last report has no work, and takes no round's place");
});

Deno.test("Work score: what is forfeited had not vested, and later rounds count again", () => {
  const book = openWorkBook();
  for (let round = 0; round < 6; round++) report(book, { round, units: { a: 1, b: 1 } });
  report(book, { round: 6, units: { b: 1 }, forfeits: [{ miner: a, fromRound: 0 }] }); // 0 and 1 were due
  assertEquals(scores(book), [2, 3]);
  for (let round = 7; round < 12; round++) report(book, { round, units: { a: 1, b: 1 } });
  assertEquals(scores(book), [2 + 1, 8]);
  report(book, { round: 12, units: {}, forfeits: [{ miner: b, fromRound: 11 }], isLast: true });
  assertEquals(scores(book), [5, 7]);
});

Deno.test("Work score: what had vested when a run ended stays vested if it goes on, and cannot be forfeited", () => {
  const book = openWorkBook();
  for (let round = 0; round < 6; round++) report(book, { round, units: { a: 1, b: 1 } });
  report(book, { round: 6, units: {}, isLast: true });
  assertEquals(scores(book), [6, 6]);
  report(book, { round: 7, units: { a: 1, b: 1 } });
  report(book, { round: 8, units: { b: 1 }, forfeits: [{ miner: a, fromRound: 0 }] });
  assertEquals(scores(book), [6, 6]);
  for (let round = 9; round < 12; round++) report(book, { round, units: { a: 1, b: 1 } });
  assertEquals(scores(book), [6, 7], "7 is due, and what a did in it is lost");
});

Deno.test("Work score: rounds without a report, which were undone, put off nothing and make nothing due that was forfeited", () => {
  const book = openWorkBook();
  for (const round of [0, 1, 2, 3, 4, 5]) report(book, { round, units: { a: 1, b: 1 } });
  report(book, { round: 7, units: { a: 1, b: 1 }, forfeits: [{ miner: a, fromRound: 2 }] });
  assertEquals(scores(book), [2, 4]);
});

Deno.test("Work score: a miner that failed an audit gets nothing until the failure has left the books", () => {
  const book = openWorkBook();
  for (let round = 0; round < 2 * roundsBooked; round++) {
    report(book, { round, units: { a: 1, c: 1 } });
    if (round === 3) bookVerdict(book, { miner: c, round, score: 0 });
    const isHeld = round < roundsUntilDue || (round >= 3 && round < 3 + roundsBooked);
    assertEquals(scores(book)[1] === 0, isHeld, `round ${round}`);
  }
  assertEquals(scoresOf(book), [{ miner: a, score: roundsInWindow }, { miner: c, score: roundsInWindow }]);
});

Deno.test("Work score: of several verdicts the hardest counts, and one that passes changes nothing", () => {
  const book = openWorkBook();
  report(book, { round: 1, units: { a: 4, b: 4 }, isLast: true });
  for (const score of [0.5, 0.25, 1]) bookVerdict(book, { miner: a, round: 1, score });
  bookVerdict(book, { miner: b, round: 1, score: 1 });
  assertEquals(scoresOf(book), [{ miner: a, score: 1 }, { miner: b, score: 4 }]);
});

Deno.test("Work score: reports older than the books are not taken, and nothing older is kept", () => {
  const book = openWorkBook();
  report(book, { round: 100, units: { a: 1 } });
  report(book, { round: 100 - roundsBooked, units: { b: 1 } });
  assertEquals([scoresOf(book).length, book.rounds.size], [1, 1]);
});
