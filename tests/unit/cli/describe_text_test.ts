/** What a person reads about the text of a run: what is used of it, and why not all. */

import { assertEquals } from "@std/assert";
import { describeText, type TextUse } from "../../../cli/orchestrator/run/describe_run.ts";

const all: TextUse = {
  textBytes: 10_000_000,
  trainingBytes: 9_600_000,
  heldOutBytes: 400_000,
  duplicates: 0,
  duplicateBytes: 0,
  maxBytes: 0,
};

function linesOf(use: Partial<TextUse>): string[] {
  const facts = { corpus: "own.txt", tokens: 1, bytesPerToken: 3, unigramEntropy: 5, passes: 0.5 };
  return describeText({ ...facts, use: { ...all, ...use } }).slice(1).map((line) => line.trim());
}

Deno.test("Text of a run: it is said how much is used, held out and repeated", () => {
  assertEquals(linesOf({}), ["10 MB of 10 MB used: 9.6 MB to train on, 400 kB held out"]);
  const repeated = { textBytes: 10_100_000, duplicates: 2, duplicateBytes: 100_000 };
  assertEquals(linesOf(repeated), [
    "10 MB of 10.1 MB used: 9.6 MB to train on, 400 kB held out; 2 repeated parts left out (100 kB)",
  ]);
});

Deno.test("Text of a run: a size that uses a part only says so, and how all of it is used", () => {
  assertEquals(linesOf({ trainingBytes: 180_000, heldOutBytes: 10_000, maxBytes: 200_000 }), [
    "190 kB of 10 MB used: 180 kB to train on, 10 kB held out",
    "98 % of own.txt is not used, because data.maxBytes is 200,000: --set data.maxBytes=0 uses all of it",
  ]);
});
