/** Tidy: prose that a reader from outside understands at once; the rules and the rooms are in prose.ts. */

import { assertEquals, fail } from "@std/assert";
import { CLEAN, NOT_YET, proseProblems } from "./prose.ts";
import { proseTexts } from "./prose_texts.ts";
import { textFiles } from "./source_tree.ts";

const isIn = (path: string, rooms: readonly string[]) => rooms.some((room) => path === room || path.startsWith(room));

Deno.test("Tidy: clean rooms say nothing in private words", () => {
  const files = textFiles().filter(({ path }) => isIn(path, CLEAN) && !isIn(path, NOT_YET));
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
  ];
  const right: ["comment" | "string", string][] = [
    ["comment", "Who signed it? The orchestrator; there is no other key."],
    ["comment", "The aim is to send once; it is no longer than a line."],
    ["comment", "Of the two, the newer wins. What else would help is unknown."],
    ["string", "Cannot use the port as another program listens there"],
    ["string", "--steps must be at least 1, but is 0"],
    ["string", "pass --hub, or [hub] in the file"],
  ];
  assertEquals(wrong.filter(([kind, text]) => problems(kind, text) === 0), []);
  assertEquals(right.filter(([kind, text]) => problems(kind, text) > 0), []);
});
