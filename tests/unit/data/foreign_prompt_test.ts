/** Prompts for a foreign model: the token that its tokenizer puts first, and the several tokens that end its text. */

import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { evalText } from "../../../cli/model/eval/eval_text.ts";
import { exportModel } from "../../../cli/model/export/export_model.ts";
import { generateText, promptTokens } from "../../../cli/model/generate/generate_text.ts";
import { TextModel } from "../../../cli/model/generate/text_model.ts";
import { openModel } from "../../../cli/model/source/open_model.ts";
import { beginOfTextBeside } from "../../../cli/model/tokenizer/begin_of_text.ts";
import { endsBeside } from "../../../cli/model/tokenizer/end_of_text.ts";
import { parseTokenizer } from "../../../cli/model/tokenizer/parse_tokenizer.ts";
import { UserError } from "../../../cli/program/errors.ts";
import { processor } from "../../lab/world/devices.ts";
import { chatCases, tokenizerJson, writeTokenizer } from "../../support/chat_vectors.ts";
import { withScratchFolder } from "../../support/scratch_folder.ts";
import { bytesOfJson } from "../../support/tokenizer_styles.ts";
import { tinyConfig } from "../../support/tiny_model.ts";
import { toyModel, toyTokenizer } from "../../support/toy_model.ts";

Deno.test("Foreign prompt: ids are those of transformers, with the begin token where its tokenizer adds one", async () => {
  for (const chatCase of chatCases()) {
    await withScratchFolder(async (folder) => {
      await writeTokenizer(folder, chatCase);
      const beginOfText = await beginOfTextBeside(folder);
      const tokenizer = parseTokenizer(bytesOfJson(tokenizerJson(chatCase)), { path: chatCase.style, beginOfText });
      for (const { text, ids } of chatCase.prompts) {
        const ours = [...tokenizer.beginOfText, ...tokenizer.encode(text)].join(" ");
        assertEquals(ours, ids, `${chatCase.style}: '${text}'`);
        if (ids !== "") assertEquals(promptTokens(tokenizer, text).join(" "), ids);
      }
    });
  }
});

Deno.test("Foreign prompt: a begin token that is none of the tokenizer's is refused", () => {
  const read = (change: (file: ReturnType<typeof JSON.parse>) => void, beginOfText: "file" | string[] = "file") => {
    const file = tokenizerJson({ style: "llama3", added: [] });
    change(file);
    return parseTokenizer(bytesOfJson(file), { path: "x", beginOfText }).beginOfText;
  };
  assertEquals(read(() => {}), [400]);
  assertEquals(read(({ post_processor }) => post_processor.single.push(post_processor.single.shift())), []);
  assertEquals(read((file) => file.post_processor = null), []);
  assertThrows(
    () => read(() => {}, ["<begin>"]),
    UserError,
    "it begins a text with '<begin>', which is not one of its",
  );
  const ids = (value: unknown) => (file: ReturnType<typeof JSON.parse>) =>
    file.post_processor.special_tokens["<|begin_of_text|>"].ids = value;
  assertThrows(() => read(ids([2 ** 30])), UserError, "begins a text with '<|begin_of_text|>'");
  assertThrows(() => read(ids("x")), UserError, "post_processor TemplateProcessing.special_tokens");
});

Deno.test("Foreign prompt: a text ends at each token that the model's settings name", async () => {
  const asked = { prompt: "The ", tokens: 40, temperature: 1, topK: 0, seed: 3 };
  const room = { streams: 1, rows: 4, length: 64 };
  const ids: number[] = [];
  const model = await TextModel.open(processor, toyModel({ contextLength: 64 }), { room });
  const whole = await generateText({ ...asked, model, onToken: (id) => ids.push(id) });
  const [first, second] = [ids[5]!, ids[9]!];
  for (const end of [first, second]) {
    const source = { ...toyModel({ contextLength: 64 }), ends: new Set([toyTokenizer.endOfText, end]) };
    const ended = await TextModel.open(processor, source, { room });
    const text = await generateText({ ...asked, model: ended });
    assertEquals(text, toyTokenizer.decode(ids.slice(0, ids.indexOf(end))));
    assertEquals(whole.startsWith(text.replace(/\ufffd+$/, "")), true);
  }
});

Deno.test("Foreign prompt: end tokens are those of generation_config.json, otherwise of config.json", async () => {
  await withScratchFolder(async (folder) => {
    const write = (name: string, value: unknown) => Deno.writeTextFile(`${folder}/${name}`, JSON.stringify(value));
    assertEquals(await endsBeside(folder), []);
    await write("config.json", { eos_token_id: 7 });
    assertEquals(await endsBeside(folder), [7]);
    await write("generation_config.json", { eos_token_id: [3, 9] });
    assertEquals(await endsBeside(folder), [3, 9]);
    await write("generation_config.json", { eos_token_id: "x" });
    await assertRejects(() => endsBeside(folder), UserError, "generation_config.json' is damaged (eos_token_id");
  });
});

Deno.test("Foreign prompt: a text's loss is that behind the begin token, which is not scored itself", async () => {
  const source = toyModel({ contextLength: 16 });
  const begun = Object.assign(Object.create(toyTokenizer), { beginOfText: [84, 104] });
  const encode = (text: string) => toyTokenizer.encode(text);
  const tokenizer = Object.assign(begun, { encode });
  const room = { streams: 2, rows: 8, length: 16 };
  const model = await TextModel.open(processor, { ...source, tokenizer }, { room });
  const plain = await TextModel.open(processor, source, { room });
  const score = await evalText(model, "e people of the States");
  assertEquals(score.tokens, 22);
  assertEquals((await evalText(plain, "e people of the States")).nats === score.nats, false);
});

Deno.test("Foreign prompt: a run's export puts no begin token before texts, even if its tokenizer came with one", async () => {
  await withScratchFolder(async (folder) => {
    const config = tinyConfig({});
    const trained = { run: "x", runId: "x-1", round: 1, step: 2, config, datasetHash: "", from: null };
    const tokenizerFile = bytesOfJson(tokenizerJson({ style: "llama3", added: [] }));
    const tokenizer = parseTokenizer(tokenizerFile, { path: "x" });
    const request = { type: "f32", shardBytes: 1e9, card: "" } as const;
    const [run, model] = [`${folder}/run`, `${folder}/model`];
    await exportModel({ ...toyModel(), trained, tokenizer, tokenizerFile }, { out: run, ...request });
    assertEquals(await beginOfTextBeside(run), []);
    await exportModel({ ...toyModel(), tokenizer, tokenizerFile }, { out: model, ...request });
    assertEquals(await beginOfTextBeside(model), "file");
  });
});

Deno.test("Foreign prompt: an export of this program has one end token and no begin token", async () => {
  const { tokenizer, ends } = await openModel("tests/vectors/export/llama", () => {});
  assertEquals([tokenizer.beginOfText, [...ends]], [[], [tokenizer.endOfText]]);
});
