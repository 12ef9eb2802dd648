/** From reports of work and failed audits to scores. */

import { assertEquals } from "@std/assert";
import { nodeId } from "../../../core/ids.ts";
import { bookVerdict, bookWork, openWorkBook, roundsInWindow, scoresOf } from "../../../core/score/work_score.ts";

const [a, b, c] = ["a", "b", "c"].map(nodeId);

Deno.test("Work score: units of the window's rounds add up, and a report that comes twice counts once", () => {
  const book = openWorkBook();
  bookWork(book, { round: 0, miners: [b!, a!], units: [4, 8] });
  for (let times = 0; times < 2; times++) bookWork(book, { round: 1, miners: [a!], units: [3] });
  assertEquals(scoresOf(book), [{ miner: a!, score: 11 }, { miner: b!, score: 4 }]);
});

Deno.test("Work score: parts of a large swarm's report are one report", () => {
  const book = openWorkBook();
  bookWork(book, { round: 5, miners: [a!], units: [1] });
  bookWork(book, { round: 5, miners: [b!], units: [2] });
  assertEquals(scoresOf(book), [{ miner: a!, score: 1 }, { miner: b!, score: 2 }]);
});

Deno.test("Work score: a miner that failed an audit gets nothing until the failure has left the window", () => {
  const book = openWorkBook();
  for (let round = 0; round < 2 * roundsInWindow; round++) {
    bookWork(book, { round, miners: [a!, c!], units: [1, 1] });
    if (round === 3) bookVerdict(book, { miner: c!, round, score: 0 });
    const [, cheater] = scoresOf(book);
    const isHeld = round >= 3 && round < 3 + roundsInWindow;
    assertEquals(cheater?.score === 0, isHeld, `round ${round}`);
  }
  assertEquals(scoresOf(book), [{ miner: a!, score: roundsInWindow }, { miner: c!, score: roundsInWindow }]);
});

Deno.test("Work score: of several verdicts the hardest counts, and one that passes changes nothing", () => {
  const book = openWorkBook();
  bookWork(book, { round: 1, miners: [a!, b!], units: [4, 4] });
  for (const score of [0.5, 0.25, 1]) bookVerdict(book, { miner: a!, round: 1, score });
  bookVerdict(book, { miner: b!, round: 1, score: 1 });
  assertEquals(scoresOf(book), [{ miner: a!, score: 1 }, { miner: b!, score: 4 }]);
});

Deno.test("Work score: reports older than the window are not taken, and nothing older is kept", () => {
  const book = openWorkBook();
  bookWork(book, { round: 100, miners: [a!], units: [1] });
  bookWork(book, { round: 100 - roundsInWindow, miners: [b!], units: [1] });
  assertEquals([scoresOf(book).length, book.rounds.size], [1, 1]);
});
