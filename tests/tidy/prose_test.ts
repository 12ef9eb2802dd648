/** Tidy: prose that a reader from outside understands at once; the rules are in prose.ts. */

import { assertEquals, fail } from "@std/assert";
import { EXAMPLES, proseProblems } from "./prose.ts";
import { proseTexts } from "./prose_texts.ts";
import { textFiles } from "./source_tree.ts";

Deno.test("Tidy: nothing is said in private words", () => {
  const files = textFiles().filter(({ path }) => !EXAMPLES.includes(path));
  const problems = files.flatMap((file) =>
    proseTexts(file).flatMap(proseProblems).map((problem) => `${file.path}:${problem}`)
  );
  if (problems.length > 0) fail(`Write it as a technical writer would\n  ${problems.join("\n  ")}\n`);
});

Deno.test("Tidy: the rules of prose hit what they are for, and honest English not", () => {
  const problems = (kind: "comment" | "string", text: string) => proseProblems({ kind, line: 1, text }).length;
  const wrong: ["comment" | "string", string][] = [
    ["comment", "Who has no link is asked once more."],
    ["comment", "Parameters that it is to send."],
    ["comment", "Counted twice: else a cheat would leave."],
    ["comment", "Of one that left since."],
    ["comment", "What others made is no measure."],
    ["string", "Cannot resume as '…' must hold a run"],
    ["string", "the file must be whole: it is not"],
    ["comment", "The hub mends a blob."],
    ["string", "half withheld, as it let a duty of the merge pass"],
    ["string", "a withheld duty costs half of the pay"],
    ["string", "forfeits all pay that is not due"],
    ["comment", "All rounds due: the run has ended."],
    ["string", "by the last trial of its payload"],
    ["comment", "The miner is sent to rest."],
    ["comment", "Counted once for each absence."],
    ["comment", "Reads the reports of a sealed step."],
    ["string", "tasks that the miner confirmed are confirmed tasks"],
    ["comment", "Rows of the token sides."],
    ["comment", "A payload trail of eight rounds."],
    ["comment", "The odd one of three replicas."],
    ["comment", "It has used up its talk budget."],
    ["comment", "No more leases than in-flight places."],
    ["string", "the miner gets a notice"],
    ["comment", "A share of the longest way."],
    ["comment", "It still owes an answer."],
    ["string", "until it has shown the parameters that it used"],
    ["string", "leaves when it must show its parameters"],
  ];
  const right: ["comment" | "string", string][] = [
    ["comment", "Who signed it? The orchestrator; there is no other key."],
    ["comment", "The aim is to send once; it is no longer than a line."],
    ["comment", "Of the two, the newer wins. What else would help is unknown."],
    ["string", "Cannot use the port as another program listens there"],
    ["string", "--steps must be at least 1, but is 0"],
    ["string", "pass --hub, or [hub] in the file"],
    ["string", "lab bench hub relay"],
    ["comment", "Weights are due once an epoch; the next call is not due yet."],
    ["comment", "Round 1 is due at the beacon's genesis."],
    ["comment", "The weights are sealed until the round, and the ticket is sealed with a key."],
    ["comment", "The compiler makes trial runs; the estimate rests on the last one."],
    ["comment", "The rest of the payload. Phases come to rest."],
    ["comment", "In its absence the default holds; the block confirms the call."],
    ["comment", "Both sides of an odd number of words talk over one link."],
    ["comment", "Places of the largest values; peers that it can reach."],
    ["comment", "It ends without notice, as nobody notices it. Owing to rounding, sums differ."],
    ["comment", "The page shows the state of the run; the setting is shown in a table."],
    ["string", "pay for that work can be withheld"],
  ];
  assertEquals(wrong.filter(([kind, text]) => problems(kind, text) === 0), []);
  assertEquals(right.filter(([kind, text]) => problems(kind, text) > 0), []);
});
