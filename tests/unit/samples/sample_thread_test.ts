/** One sample of a run's text, by its thread: the text, its limits, and what cannot be sampled. */

import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { type Sample, sampleModel } from "../../../cli/model/generate/run_generate.ts";
import { formatTokenizer } from "../../../cli/model/data/tokenizer_file.ts";
import { UserError } from "../../../cli/program/errors.ts";
import { type SampleAnswer, type SampleQuestion, startSample } from "../../../cli/model/samples/sample_thread.ts";
import { TrainedTokenizer } from "../../../core/tokenizer/trained_tokenizer.ts";
import { processor, referenceHost } from "../../lab/world/devices.ts";
import { writeSampledRun } from "../../support/sampled_run.ts";
import { withScratchFolder } from "../../support/scratch_folder.ts";

const sampling = { prompt: "The people", tokens: 12, temperature: 0.7, topK: 40, seed: 1 };

const ask = (model: string, more: Partial<SampleQuestion> = {}): Promise<SampleAnswer> =>
  startSample({ model, ...sampling, mostBytes: 2 ** 30, mostMs: 60_000, ...more }).answer;

const asSample = (answer: SampleAnswer): Sample => "problem" in answer ? assertNever(answer.problem) : answer;
const assertNever = (problem: string): never => {
  throw new Error(problem);
};

Deno.test("Sample thread: the newest checkpoint's text, as iota generate makes it", async () => {
  await withScratchFolder(async (run) => {
    await writeSampledRun(run, { round: 1 });
    await writeSampledRun(run, { round: 2 });
    const answer = asSample(await ask(run));
    assertEquals([answer.trained, answer.tokens], [{ round: 2, step: 4 }, 12]);
    assertEquals(await sampleModel(processor, { model: run, ...sampling }, () => {}), answer);
    assert(answer.text.length > 0);
  });
});

Deno.test("Sample: the tokenizer of another run is refused by its hash", async () => {
  await withScratchFolder(async (run) => {
    await writeSampledRun(run, { round: 1 });
    const path = `${run}/dataset/tokenizer.json`;
    const other = formatTokenizer(new TrainedTokenizer({ merges: [[104, 101]] }));
    await Deno.writeTextFile(path, other);
    const { message, next } = await assertRejects(
      () => sampleModel(referenceHost(), { model: run, ...sampling }, () => {}),
      UserError,
    );
    assertMatch(message, /is not the one that the run was trained with: its hash is [0-9a-f]{64}, the run's is/);
    assertMatch(next ?? "", /dataset folder/);
  });
});

Deno.test("Sample thread: at its time's end the text ends, and what there is of it is the same", async () => {
  await withScratchFolder(async (run) => {
    await writeSampledRun(run, { round: 1 });
    const whole = asSample(await ask(run));
    assertEquals(asSample(await ask(run)), whole);
    const none = asSample(await ask(run, { mostMs: 0 }));
    assertEquals([none.text, none.tokens], ["", 0]);
    const half = asSample(await ask(run, { tokens: 6 }));
    assert(whole.text.startsWith(half.text.replace(/\ufffd+$/, "")));
  });
});

Deno.test("Sample thread: a model that takes too much, a run without a checkpoint and a damaged one are answers", async () => {
  await withScratchFolder(async (run) => {
    const empty = await ask(run);
    assert("problem" in empty && !empty.isTooLarge);
    assertMatch(empty.problem, /neither a complete checkpoint/);
    await writeSampledRun(run, { round: 1 });
    const large = await ask(run, { mostBytes: 1_000 });
    assert("problem" in large && large.isTooLarge);
    assertMatch(large.problem, /^the model takes [\d.]+ \w+ to compute, of at most 1,000 B$/);
    await Deno.writeTextFile(`${run}/dataset/tokenizer.json`, "{");
    const damaged = await ask(run);
    assert("problem" in damaged && !damaged.isTooLarge);
  });
});
