/** When samples of the text are made: seldom, one at a time, never for long, and never where they are in the way. */

import { assertEquals, assertMatch } from "@std/assert";
import { TextSamples } from "../../../cli/model/samples/text_samples.ts";
import type { SampleAnswer, SampleQuestion } from "../../../cli/model/samples/sample_thread.ts";
import { resolveConfig } from "../../../core/settings/parse.ts";
import type { RecordOf } from "../../../core/view/view_record.ts";
import { ManualTimers } from "../../support/net/manual_timers.ts";

interface Asked {
  readonly question: SampleQuestion;
  isStopped: boolean;
  answer(answer: SampleAnswer): Promise<void>;
}

function sampled({ settings = {} }: { settings?: Readonly<Record<string, unknown>> } = {}) {
  const timers = new ManualTimers();
  const asked: Asked[] = [];
  const told: RecordOf<"textSampled">[] = [];
  const problems: string[] = [];
  const resolved = resolveConfig({ size: "toy", overrides: settings });
  if (!resolved.ok) throw new Error(JSON.stringify(resolved.problems));
  const samples = new TextSamples({
    ...{ folder: "runs/demo", timers, config: () => resolved.config },
    sampledStep: () => told.at(-1)?.step ?? null,
    start: (question) => {
      const { promise, resolve } = Promise.withResolvers<SampleAnswer>();
      const own: Asked = {
        ...{ question, isStopped: false },
        answer: async (answer) => {
          resolve(answer);
          await promise;
          await Promise.resolve(); // until it has been taken
        },
      };
      asked.push(own);
      return { answer: promise, stop: () => own.isStopped = true };
    },
    tell: (record) => told.push(record),
    onProblem: (text) => problems.push(text),
  });
  const written = (round: number) =>
    samples.onRecord({ type: "checkpointWritten", round, step: 10 * round, folder: `checkpoints/${round}` });
  return { timers, asked, told, problems, samples, written };
}

const text = (round: number): SampleAnswer => ({
  text: ` of ${round}`,
  trained: { round, step: 10 * round },
  tokens: 2,
});

Deno.test("Samples: each round's checkpoint has one, with the run's prompt and always the same draws", async () => {
  const { asked, told, written, timers } = sampled({ settings: { "sample.prompt": "Once", "sample.tokens": 9 } });
  written(1);
  assertEquals(asked.length, 1);
  const { prompt, tokens, seed, model } = asked[0]!.question;
  assertEquals([prompt, tokens, model], ["Once", 9, "runs/demo"]);
  await asked[0]!.answer(text(1));
  assertEquals(told, [{ type: "textSampled", round: 1, step: 10, prompt: "Once", text: " of 1", tokens: 2 }]);
  timers.advance(60_000);
  written(2);
  assertEquals(asked[1]!.question.seed, seed);
});

Deno.test("Samples: all together take a twentieth of the time, and the newest checkpoint is the next", async () => {
  const { asked, told, written, timers } = sampled();
  written(1);
  timers.advance(1_000);
  written(2); // while the first is made
  await asked[0]!.answer(text(1));
  assertEquals(asked.length, 1);
  timers.advance(18_999);
  written(3);
  assertEquals(asked.length, 1);
  timers.advance(1);
  assertEquals(asked.length, 2);
  await asked[1]!.answer(text(3));
  assertEquals(told.map(({ round }) => round), [1, 3]);
  timers.advance(600_000);
  assertEquals(asked.length, 2); // nothing new to sample
});

Deno.test("Samples: a text harms neither terminal nor page", async () => {
  const { asked, told, written } = sampled();
  written(1);
  await asked[0]!.answer({ text: "a\u001b[2J\u202eb\ud800\u0000", trained: { round: 1, step: 10 }, tokens: 5 });
  assertEquals(told[0]!.text, "a\ufffd[2J\ufffdb\ufffd\ufffd");
});

Deno.test("Samples: the same checkpoint is not sampled into two records", async () => {
  const { asked, told, written, timers } = sampled();
  written(1);
  await asked[0]!.answer(text(1));
  timers.advance(60_000);
  written(1); // after a restart
  await asked[1]!.answer(text(1));
  assertEquals(told.length, 1);
});

Deno.test("Samples: what fails is tried again with the next round; what is too large, or hangs, is not", async () => {
  const failing = sampled();
  failing.written(1);
  await failing.asked[0]!.answer({ problem: "no checkpoint", isTooLarge: false });
  failing.timers.advance(60_000);
  failing.written(2);
  assertEquals(failing.asked.length, 2);
  assertMatch(failing.problems[0]!, /could not be made: no checkpoint/);

  const large = sampled();
  large.written(1);
  await large.asked[0]!.answer({ problem: "the model takes 3.0 GiB", isTooLarge: true });
  large.timers.advance(60_000);
  large.written(2);
  assertEquals([large.asked.length, large.problems], [
    1,
    ["There are no samples of the model's text: the model takes 3.0 GiB"],
  ]);

  const stuck = sampled();
  stuck.written(1);
  stuck.timers.advance(60_000);
  assertEquals([stuck.asked[0]!.isStopped, stuck.problems.length], [true, 1]);
  stuck.written(2);
  assertEquals(stuck.asked.length, 1);
});

Deno.test("Samples: of 0 tokens there are none", () => {
  const { asked, written } = sampled({ settings: { "sample.tokens": 0 } });
  written(1);
  assertEquals(asked.length, 0);
});

Deno.test("Samples: a finished run waits for the text of its last checkpoint, but not for long", async () => {
  const quick = sampled();
  quick.written(1);
  await quick.asked[0]!.answer(text(1));
  quick.written(2); // sooner than its share of the time allows
  const finished = quick.samples.finish();
  await quick.asked[1]!.answer(text(2));
  await finished;
  assertEquals(quick.told.length, 2);

  const slow = sampled();
  slow.written(1);
  const ended = slow.samples.finish();
  slow.timers.advance(5_000);
  await ended;
  assertEquals([slow.asked[0]!.isStopped, slow.told.length], [true, 0]);

  const slower = sampled();
  slower.written(1);
  slower.timers.advance(6_000);
  await slower.asked[0]!.answer(text(1));
  slower.written(2);
  await slower.samples.finish(); // one of these takes longer than anybody waits
  assertEquals(slower.told.length, 1);
});

Deno.test("Samples: a stopped process makes no more of them", () => {
  const { asked, samples, written, told } = sampled();
  written(1);
  samples.close();
  written(2);
  assertEquals([asked.length, asked[0]!.isStopped, told.length], [1, true, 0]);
});
