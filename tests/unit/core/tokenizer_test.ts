/**
 * The tokenizer: training is frozen, ids are those of Python's tokenizers (a golden vector) and of the npm package (live).
 * How the vectors were made: tests/vectors/tokenizer/README.md.
 */

import { Tokenizer as HuggingFace } from "@huggingface/tokenizers";
import { assert, assertEquals, assertThrows } from "@std/assert";
import { formatTokenizer, parseTokenizer } from "../../../cli/model/data/tokenizer_file.ts";
import { UserError } from "../../../cli/program/errors.ts";
import { Tokenizer } from "../../../core/tokenizer/bpe.ts";
import { vocabSizeOf } from "../../../core/tokenizer/bpe_model.ts";
import { trainBpe } from "../../../core/tokenizer/bpe_train.ts";
import { readSpelling, spellBytes } from "../../../core/tokenizer/byte_alphabet.ts";
import { countWords, splitWords } from "../../../core/tokenizer/words.ts";

const vectors = new URL("../../vectors/tokenizer/", import.meta.url);
const readVector = (name: string) => Deno.readTextFileSync(new URL(name, vectors));
const text = readVector("text.txt");
const frozen = readVector("tokenizer.json");
const encodings: { text: string; ids: string; decoded: string }[] = JSON.parse(readVector("encodings.json"));
const tokenizer = parseTokenizer(frozen, "tokenizer.json");

Deno.test("trainBpe: the same text gives the frozen tokenizer, byte for byte", () => {
  const model = trainBpe({ wordCounts: countWords([text]), vocabSize: 512 });
  assertEquals(formatTokenizer(new Tokenizer(model)), frozen);
});

Deno.test("trainBpe: the order in which words are counted does not matter", () => {
  const counts = [...countWords([text])];
  const forward = trainBpe({ wordCounts: new Map(counts), vocabSize: 400 });
  const backward = trainBpe({ wordCounts: new Map(counts.reverse()), vocabSize: 400 });
  assertEquals(forward, backward);
});

Deno.test("trainBpe: the most frequent pair comes first, ties go to the smaller ids", () => {
  const { merges } = trainBpe({ wordCounts: new Map([["xy", 2], ["ab", 2], ["cd", 3]]), vocabSize: 260 });
  assertEquals(merges, [[99, 100], [97, 98], [120, 121]]);
});

Deno.test("trainBpe: no two tokens have the same bytes, in runs and overlaps neither", () => {
  const runs = Array.from({ length: 24 }, (_, i): [string, number] => ["a".repeat(i + 2), (i * 7) % 11 + 1]);
  const overlaps = ["abab", "baba", "abcabc", "bcab", "cabb", "aabc", "xbc"].map((
    word,
    i,
  ): [string, number] => [word, i + 3]);
  const trained = new Tokenizer(trainBpe({ wordCounts: new Map([...runs, ...overlaps]), vocabSize: 300 }));
  const spellings = Array.from({ length: trained.vocabSize }, (_, id) => spellBytes(trained.bytesOf(id)));
  assertEquals(new Set(spellings).size, spellings.length);
});

Deno.test("trainBpe: a text with too few pairs yields a smaller vocabulary", () => {
  assertEquals(vocabSizeOf(trainBpe({ wordCounts: new Map([["ab", 1]]), vocabSize: 320 })), 258);
});

Deno.test("Tokenizer: ids and decoded text are those of Python's tokenizers", () => {
  for (const expected of encodings) {
    const ids = tokenizer.encode(expected.text);
    assertEquals(ids.join(" "), expected.ids, JSON.stringify(expected.text));
    assertEquals(tokenizer.decode(ids), expected.decoded);
  }
});

Deno.test("Tokenizer: ids are those of @huggingface/tokenizers", () => {
  const other = new HuggingFace(JSON.parse(frozen), {});
  // That package's white space is JavaScript's, which has U+FEFF and lacks U+0085; Python's is ours.
  const comparable = encodings.map((each) => each.text).filter((each) => !/[\u0085\ufeff]/.test(each));
  assert(comparable.length > 10);
  for (const each of [text, ...comparable]) assertEquals(tokenizer.encode(each), other.encode(each).ids, each);
});

Deno.test("Tokenizer: decoding gives the text back", () => {
  for (const each of [text, ...encodings.map(({ text }) => text), "\ufeffmark first"]) {
    assertEquals(tokenizer.decode(tokenizer.encode(each)), each);
  }
});

Deno.test("Tokenizer: half a character decodes to a replacement character", () => {
  const [first] = tokenizer.encode("日");
  assert(first !== undefined);
  assertEquals(tokenizer.decode([first]), "\ufffd");
});

Deno.test("Tokenizer: a word of 20,000 letters is merged and read back", () => {
  const ids = tokenizer.encode("a".repeat(20_000));
  assertEquals(tokenizer.decode(ids).length, 20_000);
});

Deno.test("splitWords: the words of a text, joined, are the text", () => {
  for (const each of [text, ...encodings.map(({ text }) => text)]) assertEquals(splitWords(each).join(""), each);
});

Deno.test("Byte alphabet: all 256 bytes are spelled differently and read back", () => {
  const bytes = Uint8Array.from({ length: 256 }, (_, byte) => byte);
  const spelling = spellBytes(bytes);
  assertEquals(new Set(spelling).size, 256);
  assertEquals(readSpelling(spelling), bytes);
  assertEquals(spellBytes(new TextEncoder().encode(" \n")), "ĠĊ");
  assertEquals(readSpelling("日"), null);
});

Deno.test("Tokenizer file: a foreign file is rejected with the difference", () => {
  const refused = (change: (file: ReturnType<typeof JSON.parse>) => void, includes: string) => {
    const file = JSON.parse(frozen);
    change(file);
    assertThrows(() => parseTokenizer(JSON.stringify(file), "x/tokenizer.json"), UserError, includes);
  };
  assertThrows(() => parseTokenizer("{", "x/tokenizer.json"), UserError, "x/tokenizer.json");
  refused((file) => file.model.type = "WordPiece", "model.type");
  refused((file) => file.model.merges[3] = "a b c", "merge 3 is 'a b c'");
  refused((file) => file.model.merges[3] = file.model.merges[4], "merge 3 does not make id 259");
  refused((file) => file.model.merges.pop(), "vocabulary must have 511 tokens");
  refused((file) => [file.model.vocab.a, file.model.vocab.z] = [122, 97], "byte 97");
  refused((file) => file.added_tokens[0].id = 3, "the last one <|endoftext|>");
});
