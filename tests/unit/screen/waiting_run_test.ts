/** A run that waits for a miner of a stage: what the live screen, its news and the plain lines show. */

import { assertEquals, assertMatch } from "@std/assert";
import { stageIndex } from "../../../core/ids.ts";
import { createPaint } from "../../../cli/terminal/text/paint.ts";
import { newsLine } from "../../../cli/observe/screen/news_words.ts";
import { frame } from "../../../cli/observe/screen/panels.ts";
import { createPlainLines } from "../../../cli/observe/screen/plain.ts";
import { foldAt, openedView, sampleRun } from "../../support/sample_run.ts";

Deno.test("Screen: a run whose stage has no miner waits: no phase, no speed and no time left until it has one", () => {
  const view = openedView();
  const records = sampleRun(28);
  for (const { record, atMs } of records) foldAt(view, record, atMs);
  const nowMs = records.at(-1)!.atMs;
  const drawn = () =>
    frame(view, { width: 100, height: 30, nowMs, paint: createPaint(false) }).filter((each) =>
      /^(step|speed)/.test(each)
    ).join();
  const plain = (stages: number[]) => {
    const record = { type: "stagesUnserved", stages: stages.map(stageIndex) } as const;
    foldAt(view, record, nowMs);
    return {
      line: createPlainLines().of(record, view, nowMs)[0]!.trim().replace(/^\S+ +/, ""),
      news: newsLine(record),
    };
  };
  assertMatch(drawn(), / · about .* left/);
  const { line, news } = plain([1]);
  assertEquals(line, "waiting  stage 1 has no miner; the run goes on as soon as every stage has one");
  assertEquals(news, { level: "warn", text: "waiting: stage 1 has no miner" });
  assertMatch(drawn(), /^step .* waiting: stage 1 has no miner$/);
  assertMatch(plain([0, 1, 2]).line, /^waiting {2}stages 0, 1 and 2 have no miner;/);
  assertEquals(plain([]).line, "continue every stage has a miner again");
  assertMatch(drawn(), /tokens\/s/);
  assertMatch(drawn(), / · about .* left/);
});
