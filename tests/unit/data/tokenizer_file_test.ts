/** Reading any tokenizer.json: what is refused and how, hostile files, folders of models, exports. */

import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { exportGguf } from "../../../cli/model/export/export_gguf.ts";
import { exportModel } from "../../../cli/model/export/export_model.ts";
import { ggufTokens } from "../../../cli/model/export/gguf_tokenizer.ts";
import { TextStream } from "../../../cli/model/generate/text_stream.ts";
import { openModel } from "../../../cli/model/source/open_model.ts";
import type { NamedToken } from "../../../cli/model/tokenizer/end_of_text.ts";
import { parseTokenizer, readTokenizerBytes } from "../../../cli/model/tokenizer/parse_tokenizer.ts";
import { UserError } from "../../../cli/program/errors.ts";
import { withScratchFolder } from "../../support/scratch_folder.ts";
import { prngOf } from "../../support/small_prng.ts";
import { bytesOfJson, styleNamed, tokenizerStyles } from "../../support/tokenizer_styles.ts";
import { cases } from "../../support/whole.ts";

type Json = ReturnType<typeof JSON.parse>;

const copyOf = (name: string): Json => structuredClone(styleNamed(name).file);

function refused(name: string, change: (file: Json) => void, includes: string): void {
  const file = copyOf(name);
  change(file);
  const error = assertThrows(
    () => parseTokenizer(bytesOfJson(file), { path: "x/tokenizer.json" }),
    UserError,
    includes,
  ) as UserError;
  assert(error.next !== undefined && error.message.includes("x/tokenizer.json"));
}

Deno.test("Tokenizer file: what cannot be followed is refused with its place and its value", () => {
  const text = (bytes: string) => new TextEncoder().encode(bytes);
  for (const [written, includes] of [["{", "not JSON"], ["[]", "the file"], ["{}", "model"], ["null", "the file"]]) {
    assertThrows(() => parseTokenizer(text(written!), { path: "x" }), UserError, includes!);
  }
  refused("gpt2", (file) => file.model.type = "WordPiece", "its model is of the type 'WordPiece'");
  refused("gpt2", (file) => file.model.type = "Unigram", "its model is of the type 'Unigram'");
  refused("gpt2", (file) => file.model.vocab.a = -1, "the id of 'a' must be a whole number below 1048576, and is '-1'");
  refused("gpt2", (file) => file.model.vocab.a = 2 ** 40, "and is '1099511627776'");
  refused("gpt2", (file) => file.model.vocab.a = "7", "the id of 'a'");
  refused("gpt2", (file) => file.model.vocab.a = file.model.vocab.b, "is that of two tokens, 'a' and 'b'");
  refused("gpt2", (file) => file.model.vocab = [], "model.vocab is not a list of tokens");
  refused("gpt2", (file) => file.model.merges[3] = "a b c", "merge 3 is not a pair of tokens");
  refused("gpt2", (file) => file.model.merges[3] = [["a"]], "merge 3 is not a pair");
  refused("gpt2", (file) => file.model.merges[3] = ["zq", "x"], "merge 3 needs the token 'zq'");
  refused("gpt2", (file) => file.model.merges = {}, "model.merges is not a list");
  refused("gpt2", (file) => file.model.dropout = 0.1, "model.dropout");
  refused("gpt2", (file) => file.model.end_of_word_suffix = "</w>", "model.end_of_word_suffix");
  refused("gpt2", (file) => file.model.unk_token = "nowhere", "'nowhere', which is not in its vocabulary");
  refused("gpt2", (file) => file.added_tokens[0].id = 2 ** 31, "added_tokens.0.id");
  refused("gpt2", (file) => file.added_tokens[0].id = 65, "id 65 is that of two tokens");
  refused("gpt2", (file) => file.added_tokens[0].content = "x".repeat(2000), "added_tokens.0.content");
  refused("gpt2", (file) => file.normalizer = { type: "Lowercase" }, "normalizer is of the type 'Lowercase'");
  refused("gpt2", (file) => file.decoder = null, "its decoder must be ByteLevel");
  refused("smollm", (file) => file.pre_tokenizer.pretokenizers.reverse(), "pre_tokenizer has Digits where it must end");
  refused(
    "llama3",
    (file) => file.pre_tokenizer.pretokenizers[0].pattern.Regex = "(a+)+$",
    "its split pattern '(a+)+$'",
  );
  refused("llama3", (file) => file.pre_tokenizer.pretokenizers[0].behavior = "Odd", "pre_tokenizer Split.behavior");
  refused("gemma", (file) => file.normalizer.content = "▁".repeat(9), "normalizer Replace");
  refused("gemma", (file) => file.decoder = { type: "CTC" }, "decoder is of the type 'CTC'");
  refused("digit-runs", (file) => {
    file.model.unk_token = "</s>";
  }, "which would end a document");
});

Deno.test("Tokenizer file: a file of a million brackets is refused, wherever they are", () => {
  const deep = `${"[".repeat(500_000)}${"]".repeat(500_000)}`;
  const sequences = `${'{"type":"Sequence","pretokenizers":['.repeat(5000)}${"]}".repeat(5000)}`;
  const whole = JSON.stringify(copyOf("gpt2"));
  for (
    const key of ["pre_tokenizer", "normalizer", "decoder", "added_tokens", "vocab", "merges", "unk_token", "dropout"]
  ) {
    for (const value of [deep, `[${deep}]`, sequences, '{"toString":1}', '{"a":{"toString":1}}', '{"__proto__":[]}']) {
      const file = new TextEncoder().encode(whole.replace(new RegExp(`"${key}":`), () => `"${key}":${value},"other":`));
      parsed(file);
    }
  }
  const nested = new TextEncoder().encode(whole.replace('"pre_tokenizer":', `"pre_tokenizer":${sequences},"other":`));
  assertThrows(() => parseTokenizer(nested, { path: "x" }), UserError, "damaged or too deep");
});

Deno.test("Tokenizer file: the end of a document is what is said, or the first well-known token, or refused", () => {
  const endOf = (name: string, endOfText?: NamedToken) => {
    const tokenizer = parseTokenizer(bytesOfJson(copyOf(name)), { path: "x", endOfText });
    return tokenizer.decode([tokenizer.endOfText]);
  };
  assertEquals(endOf("llama3"), "<|end_of_text|>");
  assertEquals(endOf("llama3", "<|eot_id|>"), "<|eot_id|>");
  assertEquals(endOf("qwen2"), "<|endoftext|>");
  assertEquals(endOf("deepseek3"), "<｜end▁of▁sentence｜>");
  const { ids } = styleNamed("qwen2");
  assert(ids.length > 0);
  const id = copyOf("qwen2").added_tokens.find(({ content }: Json) => content === "<|im_end|>").id;
  assertEquals(endOf("qwen2", id), "<|im_end|>");
  assertThrows(() => endOf("qwen2", "the"), UserError, "no added token is 'the'");
  refused("gpt2", (file) => {
    file.added_tokens[0].content = "<stop>";
  }, "does not say which token ends a document");
});

Deno.test("Tokenizer file: an ordinary added token that ends documents is not found in text either", () => {
  const file = copyOf("qwen2");
  for (const token of file.added_tokens) token.special = false;
  const tokenizer = parseTokenizer(bytesOfJson(file), { path: "x" });
  const ids = tokenizer.encode("a<|endoftext|><|im_end|>");
  assert(!ids.includes(tokenizer.endOfText));
  assertEquals(tokenizer.decode(ids.slice(-1)), "<|im_end|>"); // not special: the file wants it found
});

Deno.test("Tokenizer file: a merge that would make a special token is left out", () => {
  const file = copyOf("gpt2");
  const { id } = file.added_tokens[0];
  file.added_tokens[0].content = "qx";
  delete file.model.vocab["<|endoftext|>"];
  file.model.vocab.qx = id;
  file.model.merges.push(["q", "x"]);
  const tokenizer = parseTokenizer(bytesOfJson(file), { path: "x", endOfText: "qx" });
  assertEquals(tokenizer.encode("qx"), [file.model.vocab.q, file.model.vocab.x]);
});

Deno.test("Tokenizer file: more bytes than a tokenizer has are not read", async () => {
  await withScratchFolder(async (folder) => {
    const path = `${folder}/tokenizer.json`;
    (await Deno.create(path)).close();
    await Deno.truncate(path, 200_000_001);
    await assertRejects(() => readTokenizerBytes(path), UserError, "it has 200000001 bytes, of at most 200000000");
    await assertRejects(() => readTokenizerBytes(`${folder}/none`), UserError, "it does not exist");
  });
});

const oddities: readonly Json[] = [
  ...[
    null,
    true,
    -1,
    0,
    1,
    3,
    255,
    2 ** 31,
    2 ** 53,
    1e308,
    0.5,
    "",
    "a",
    "Ġ",
    "▁",
    " ",
    "\ud800",
    "Sequence",
    "ByteLevel",
  ],
  ...[
    "(a*)*",
    "\\s+",
    "x".repeat(3000),
    [],
    {},
    [[]],
    [null],
    { type: "Sequence" },
    { type: "NFC" },
    ["a", "b"],
    "Regex",
  ],
];

/** Changes one place in a file; places near the root come as often as those deep in the vocabulary. */
function mutate(file: Json, pick: (below: number) => number): void {
  let [holder, key]: [Json, string] = [{ file }, "file"];
  for (;;) {
    const value = holder[key];
    const isInside = typeof value === "object" && value !== null && Object.keys(value).length > 0;
    if (!isInside || (holder[key] !== file && pick(4) === 0)) break;
    const keys = Object.keys(value);
    [holder, key] = [value, keys[pick(keys.length)]!];
  }
  const kind = pick(4);
  if (kind === 0) delete holder[key];
  else if (kind === 1 && typeof holder[key] === "number") holder[key] += pick(5) - 2;
  else if (kind === 2) holder[oddities[pick(oddities.length)] as string] = holder[key];
  else holder[key] = structuredClone(oddities[pick(oddities.length)]);
}

Deno.test("Tokenizer file: a changed file gives a tokenizer that holds what it promises, or is refused", () => {
  const pick = prngOf(5);
  const names = ["llama3", "holes", "mistral", "metaspace", "gpt-neox"];
  const files = names.map(copyOf);
  const texts = ["The people's  12345 \r\n été 日本 👍🏽\u0085", "a<think>\n\n\n▁b<|end_of_text|></s>"];
  let used = 0;
  for (let i = 0; i < cases(20_000); i++) {
    const file = structuredClone(files[pick(files.length)]!);
    for (let count = pick(3); count >= 0; count--) mutate(file, pick);
    const tokenizer = parsed(bytesOfJson(file));
    if (tokenizer === null) continue;
    used += 1;
    for (const text of texts) {
      const ids = tokenizer.encode(text);
      assert(ids.every((id) => id >= 0 && id < tokenizer.vocabSize && id !== tokenizer.endOfText), `case ${i}`);
      tokenizer.decode(ids);
    }
    assertEquals(tokenizer.bytesOf(tokenizer.vocabSize >> 1) instanceof Uint8Array, true);
  }
  assert(used > cases(20_000) / 10, `${used} files were usable`);
});

Deno.test("Tokenizer file: changed bytes give a tokenizer or a refusal", () => {
  const pick = prngOf(6);
  const whole = bytesOfJson(copyOf("smollm"));
  for (let i = 0; i < cases(10_000); i++) {
    const bytes = whole.slice(0, pick(8) === 0 ? pick(whole.length) : whole.length);
    for (let count = pick(4); count >= 0 && bytes.length > 0; count--) bytes[pick(bytes.length)] = pick(256);
    parsed(bytes)?.encode("The people 123");
  }
});

function parsed(bytes: Uint8Array) {
  try {
    return parseTokenizer(bytes, { path: "x" });
  } catch (error) {
    assert(error instanceof UserError && error.next !== undefined, String(error));
    return null;
  }
}

Deno.test("Text stream: pieces of every style's tokens, joined, are the text behind its beginning", () => {
  for (const { name, tokenizer } of tokenizerStyles()) {
    if (["metaspace", "digit-runs"].includes(name)) continue; // has no token for some of it
    const text = "The people's été, 日本 👍🏽!\nand 12345 more";
    const stream = new TextStream(tokenizer, []);
    const pieces = tokenizer.encode(text).map((id) => stream.take(id));
    assertEquals([...pieces, stream.end()].join("").trimStart(), text, name);
  }
});

const llama = "tests/vectors/export/llama";

/** A Llama's folder with another tokenizer. */
async function writeFolder(folder: string, files: Record<string, unknown>): Promise<void> {
  const vocabSize = 1024;
  const config = { ...JSON.parse(await Deno.readTextFile(`${llama}/config.json`)), vocab_size: vocabSize };
  for (const [name, value] of Object.entries({ "config.json": config, ...files })) {
    await Deno.writeTextFile(`${folder}/${name}`, typeof value === "string" ? value : JSON.stringify(value, null, 1));
  }
}

Deno.test("Llama folder: its tokenizer may be anyone's, and the files beside it say what ends a document", async () => {
  await withScratchFolder(async (folder) => {
    const file = copyOf("llama3");
    const endOf = async (files: Record<string, unknown>) => {
      await writeFolder(folder, { "tokenizer.json": file, ...files });
      const { tokenizer } = await openModel(folder, () => {});
      return tokenizer.decode([tokenizer.endOfText]);
    };
    await assertRejects(() => endOf({}), UserError, "no added token is '256'"); // config.json of another model
    const config = JSON.parse(await Deno.readTextFile(`${folder}/config.json`));
    const [, second, third] = file.added_tokens;
    assertEquals(await endOf({ "config.json": { ...config, eos_token_id: [second.id, third.id] } }), second.content);
    assertEquals(await endOf({ "special_tokens_map.json": { eos_token: { content: "<|eot_id|>" } } }), "<|eot_id|>");
    assertEquals(await endOf({ "tokenizer_config.json": { eos_token: "<|end_of_text|>" } }), "<|end_of_text|>");
    await assertRejects(() => endOf({ "tokenizer_config.json": "{" }), UserError, "tokenizer_config.json' is damaged");
  });
});

Deno.test("Llama folder: a tokenizer with more ids than the model, and none at all, are refused", async () => {
  await withScratchFolder(async (folder) => {
    await writeFolder(folder, { "tokenizer.json": copyOf("holes"), "tokenizer_config.json": {} });
    const config = { ...JSON.parse(await Deno.readTextFile(`${folder}/config.json`)), eos_token_id: null };
    await Deno.writeTextFile(`${folder}/config.json`, JSON.stringify(config));
    await assertRejects(
      () => openModel(folder, () => {}),
      UserError,
      "has ids up to 3000, and its model has only 1024",
    );
    await Deno.remove(`${folder}/tokenizer.json`);
    await assertRejects(() => openModel(folder, () => {}), UserError, "tokenizer.json is missing");
  });
});

Deno.test("Export: a foreign tokenizer is written as it was read, and its end is named", async () => {
  await withScratchFolder(async (folder) => {
    const source = await openModel(llama, () => {});
    const file = new TextEncoder().encode(`  ${JSON.stringify(copyOf("qwen2"), null, 3)}\n\n`);
    const foreign = { ...source, tokenizerFile: file, tokenizer: parseTokenizer(file, { path: "x" }) };
    await exportModel(foreign, { out: folder, type: "f32", shardBytes: 1e9, card: "" });
    assertEquals(await Deno.readFile(`${folder}/tokenizer.json`), file);
    const written = JSON.parse(await Deno.readTextFile(`${folder}/tokenizer_config.json`));
    assertEquals(written.eos_token, "<|endoftext|>");
    const mistral = bytesOfJson(copyOf("mistral"));
    const pieces = { ...source, tokenizerFile: mistral, tokenizer: parseTokenizer(mistral, { path: "x" }) };
    const toGguf = () => exportGguf(pieces, { out: folder, name: "x" });
    await assertRejects(toGguf, UserError, "GGUF cannot hold this model's tokenizer: llama.cpp splits words as");
  });
});

Deno.test("GGUF: the kinds of tokenizers that llama.cpp splits as their files say", () => {
  const kinds = tokenizerStyles().map(({ name, file, tokenizer }) => {
    try {
      return [name, ggufTokens({ tokenizer, tokenizerFile: bytesOfJson(file), chat: null, vocabSize: 4096 })] as const;
    } catch (error) {
      assert(error instanceof UserError && error.next !== undefined);
      return null;
    }
  }).filter((each) => each !== null);
  const pres = kinds.map(([name, { pre }]) => [name, pre]);
  assertEquals(pres, [["gpt2", "gpt-2"], ["llama3", "llama-bpe"], ["qwen2", "qwen2"], ["smollm", "smollm"], [
    "holes",
    "smollm",
  ]]);
  const tokens = Object.fromEntries(kinds).llama3!;
  assertEquals([tokens.tokens.length, tokens.types.length, new Set(tokens.tokens).size], [4096, 4096, 4096]);
  assertEquals([tokens.tokens[tokens.begin], tokens.tokens[tokens.end]], ["<|begin_of_text|>", "<|end_of_text|>"]);
  assertEquals([tokens.types[tokens.begin], tokens.types[65], tokens.types[4095], tokens.addsBegin], [3, 1, 5, true]);
  assert(tokens.merges.every((merge) => merge.split(" ").length === 2));
});
