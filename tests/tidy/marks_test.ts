/** Tidy: every mark of core/orchestrator/marks.ts stands in the branch that it is about, and a test must reach it. */

import { fail } from "@std/assert";
import { marks } from "../../core/orchestrator/marks.ts";
import { textFiles } from "./source_tree.ts";

const files = textFiles();

function named(mark: string, { folder, call }: { folder: string; call: string }): boolean {
  return files.some(({ path, text }) =>
    path.startsWith(folder) && !path.startsWith("tests/tidy/") && text.includes(call) && text.includes(`"${mark}"`)
  );
}

Deno.test("Tidy: every mark stands in a branch, and a test must reach it", () => {
  const loose = marks.filter((mark) => !named(mark, { folder: "core/orchestrator/", call: "reach(state" }));
  const untested = marks.filter((mark) => !named(mark, { folder: "tests/", call: "assertReached(" }));
  const list = (title: string, found: readonly string[]) =>
    found.length === 0 ? "" : `${title}\n  ${found.join("\n  ")}\n`;
  const problems = list("Call reach() where this happens, or delete the mark", loose) +
    list("Write a test that calls assertReached() with it", untested);
  if (problems !== "") fail(problems);
});
