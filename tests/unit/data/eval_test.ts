/** Evaluation: losses against the stages' own, questions of every form, and what is refused. */

import { assertAlmostEquals, assertEquals, assertThrows } from "@std/assert";
import { evalChoices, readQuestions } from "../../../cli/model/eval/choices.ts";
import { evalText } from "../../../cli/model/eval/eval_text.ts";
import { TextModel } from "../../../cli/model/generate/text_model.ts";
import { stagesOf } from "../../../cli/model/source/model_source.ts";
import { UserError } from "../../../cli/program/errors.ts";
import { createCpuStage } from "../../../gpu/cpu/cpu_stage.ts";
import { processor } from "../../lab/world/devices.ts";
import { toyModel, toyTokenizer } from "../../support/toy_model.ts";

const contextLength = 8;
const open = () =>
  TextModel.open(processor, toyModel({ contextLength }), { room: { streams: 2, rows: 3, length: contextLength } });

Deno.test("Eval: a text's loss is the stages' own over its windows, the last one short", async () => {
  const text = "We, the people: é"; // 18 tokens and bytes: two windows of 8, one of 2
  const score = await evalText(await open(), text);
  const [spec] = stagesOf(toyModel({ contextLength }), { sequences: 1, contextLength });
  const stage = await createCpuStage(spec!, { optimizer: null });
  await stage.loadParameters(await toyModel({ contextLength }).readStage(spec!));
  const ids = [toyTokenizer.endOfText, ...toyTokenizer.encode(text)];
  let sum = 0;
  for (let target = 1; target < ids.length; target++) {
    const first = Math.floor((target - 1) / contextLength) * contextLength;
    const tokens = new Uint32Array(contextLength);
    tokens.set(ids.slice(first, target));
    const logits = (await stage.logitsAt({ type: "tokens", tokens }, target - 1 - first)).subarray(0, 257);
    sum += Math.log(logits.reduce((total, logit) => total + Math.exp(logit), 0)) - logits[ids[target]!]!;
  }
  assertEquals([score.tokens, score.bytes], [18, 18]);
  assertAlmostEquals(score.nats, sum / 18, 1e-5);
  assertAlmostEquals(score.bitsPerByte, sum / 18 / Math.LN2, 1e-5);
});

Deno.test("Eval: questions are read as ARC, HellaSwag and plain files write them", () => {
  const lines = [
    { id: "x", question: "Why?", choices: { text: ["So", "No"], label: ["A", "B"] }, answerKey: "B" },
    { ctx: "A man", endings: ["eats", "sits"], label: "1" },
    { question: "Why?", choices: ["So", " No"], answer: 0 },
    { prompt: "Why?", choices: ["So", "No"], gold: 1 },
  ];
  assertEquals(readQuestions(lines.map((line) => JSON.stringify(line)).join("\n"), "q"), [
    { prompt: "Question: Why?\nAnswer:", choices: [" So", " No"], answer: 1 },
    { prompt: "A man", choices: [" eats", " sits"], answer: 1 },
    { prompt: "Why?", choices: [" So", " No"], answer: 0 },
    { prompt: "Why?", choices: [" So", " No"], answer: 1 },
  ]);
});

Deno.test("Eval: a line without a question, or with an answer beyond its choices, is named", () => {
  const good = '{"question":"a","choices":["b","c"],"answer":1}\n';
  for (const bad of ["no JSON", "{}", '{"question":"a","choices":["b"],"answer":0}', good.replace("1}", "2}")]) {
    assertThrows(() => readQuestions(good + bad, "q.jsonl"), UserError, "Line 2 of 'q.jsonl' is not a question");
  }
  assertThrows(() => readQuestions("\n", "q.jsonl"), UserError, "There is no question in 'q.jsonl'");
});

Deno.test("Eval: the likeliest choice answers, as a sum and per byte; a long question loses its beginning", async () => {
  const model = await open();
  const nats = async (text: string) => {
    const ids = toyTokenizer.encode(text);
    return (await evalText(model, text)).nats * ids.length;
  };
  const [prompt, short, long] = ["ab", " c", " de"];
  const own = [await nats(prompt + short), await nats(prompt + long)];
  const answer = own[0]! < own[1]! ? 0 : 1;
  const score = await evalChoices(model, [{ prompt, choices: [short, long], answer }]);
  assertEquals([score.questions, score.accuracy, score.shortened], [1, 1, 0]);
  const wrong = await evalChoices(model, [{ prompt, choices: [short, long], answer: 1 - answer }]);
  assertEquals(wrong.accuracy, 0);
  const far = await evalChoices(model, [{ prompt: "x".repeat(20), choices: [short, long], answer: 0 }]);
  assertEquals(far.shortened, 1);
});
