/**
 * Tokenizers: training is frozen, ids are those of Python's tokenizers (golden vectors) and, for ours, of the npm package
 * (live). How the vectors were made: tests/vectors/tokenizer/README.md.
 */

import { Tokenizer as HuggingFace } from "@huggingface/tokenizers";
import { assert, assertEquals } from "@std/assert";
import { formatTokenizer } from "../../../cli/model/data/tokenizer_file.ts";
import { parseTokenizer } from "../../../cli/model/tokenizer/parse_tokenizer.ts";
import { TrainedTokenizer } from "../../../core/tokenizer/trained_tokenizer.ts";
import { vocabSizeOf } from "../../../core/tokenizer/bpe_model.ts";
import { trainBpe } from "../../../core/tokenizer/bpe_train.ts";
import { readSpelling, spellBytes } from "../../../core/tokenizer/byte_alphabet.ts";
import { splitPattern } from "../../../core/tokenizer/split_pattern.ts";
import { countWords, gpt2Words } from "../../../core/tokenizer/words.ts";
import { goldenTexts, tokenizerStyles } from "../../support/tokenizer_styles.ts";

const vectors = new URL("../../vectors/tokenizer/", import.meta.url);
const readVector = (name: string) => Deno.readTextFileSync(new URL(name, vectors));
const text = readVector("text.txt");
const frozen = readVector("tokenizer.json");
const encodings: { text: string; ids: string; decoded: string }[] = JSON.parse(readVector("encodings.json"));
const tokenizer = parseTokenizer(new TextEncoder().encode(frozen), { path: "tokenizer.json" });

Deno.test("trainBpe: the same text gives the frozen tokenizer, byte for byte", () => {
  const model = trainBpe({ wordCounts: countWords([text]), vocabSize: 512 });
  assertEquals(formatTokenizer(new TrainedTokenizer(model)), frozen);
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
  const trained = new TrainedTokenizer(trainBpe({ wordCounts: new Map([...runs, ...overlaps]), vocabSize: 300 }));
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
  // It takes the spelling of a special token for the token.
  const comparable = encodings.map((each) => each.text).filter((each) => !/[\u0085\ufeff]|<\|endoftext\|>/.test(each));
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

Deno.test("gpt2Words: the words of a text, joined, are the text", () => {
  for (const each of [text, ...encodings.map(({ text }) => text)]) assertEquals(wordsOf(each).join(""), each);
});

function wordsOf(text: string): string[] {
  const words: string[] = [];
  gpt2Words(text, (word) => words.push(word));
  return words;
}

Deno.test("gpt2Words: a long text has the words of its parts", () => {
  const part = "one two  three's 12345\n\n 日本語 👍🏽";
  const [count, words] = [40_000, wordsOf(part)];
  assertEquals(wordsOf(part.repeat(count)).length, words.length * count);
});

Deno.test("gpt2Words: a word longer than V8 can match is cut", () => {
  const text = `${"中".repeat(6_000_000)}`;
  const words = wordsOf(text);
  assert(words.length > 1 && words.join("") === text);
});

Deno.test("Byte alphabet: all 256 bytes are spelled differently and read back", () => {
  const bytes = Uint8Array.from({ length: 256 }, (_, byte) => byte);
  const spelling = spellBytes(bytes);
  assertEquals(new Set(spelling).size, 256);
  assertEquals(readSpelling(spelling), bytes);
  assertEquals(spellBytes(new TextEncoder().encode(" \n")), "ĠĊ");
  assertEquals(readSpelling("日"), null);
});

for (const { name, tokenizer, ids, decoded } of tokenizerStyles()) {
  Deno.test(`Tokenizer: ids and decoded text are those of Python's tokenizers (${name})`, () => {
    for (const [i, each] of goldenTexts().entries()) {
      assertEquals(tokenizer.encode(each).join(" "), ids[i], JSON.stringify(each));
      const found = tokenizer.decode(ids[i] === "" ? [] : ids[i]!.split(" ").map(Number));
      assertEquals(found, decoded[i] ?? each, JSON.stringify(each));
    }
  });
}

Deno.test("Tokenizer: no text forges the token that ends a document", () => {
  for (const { name, tokenizer } of tokenizerStyles()) {
    const end = tokenizer.decode([tokenizer.endOfText]);
    for (const forged of [end, `a${end}b`, ` ${end}`, end + end, `<${end}`, end.repeat(3)]) {
      const ids = tokenizer.encode(forged);
      assert(!ids.includes(tokenizer.endOfText), `${name}: ${forged}`);
    }
  }
});

Deno.test("Tokenizer: half a surrogate pair becomes U+FFFD, as its UTF-8 does", () => {
  for (const { tokenizer } of tokenizerStyles()) {
    assertEquals(tokenizer.encode("a\ud83dx\udc4d"), tokenizer.encode("a\ufffdx\ufffd"));
  }
});

Deno.test("Tokenizer: texts of 100,000 characters without a word's end are encoded, in every style", () => {
  const long = ["a".repeat(100_000), `${" ".repeat(100_000)}中`, "aA".repeat(30_000), "ก".repeat(30_000)];
  for (const { name, tokenizer } of tokenizerStyles()) {
    if (!["llama3", "gpt4o", "deepseek", "llama2", "gemma"].includes(name)) continue;
    for (const each of long) assert(tokenizer.encode(each).length > 0);
  }
});

const found = (pattern: string, text: string): string[] => {
  const read = splitPattern(pattern);
  assert("pattern" in read, "problem" in read ? read.problem : "");
  return text.match(read.pattern) ?? [];
};

Deno.test("Split pattern: what Oniguruma and JavaScript read differently means what it does in Oniguruma", () => {
  assertEquals(found(String.raw`\s+`, "a\u0085\ufeff \u180e"), ["\u0085", " "]);
  assertEquals(found(String.raw`\d`, "1١²"), ["1", "١"]);
  assertEquals(found(String.raw`(?i:'s|'ll)`, "'S 'ſ 'LL 's"), ["'S", "'ſ", "'LL", "'s"]);
  assertEquals(found(String.raw`\s+$`, "a  \n b  "), ["  ", "  "]);
  assertEquals(found(".", "\n\r\u2028"), ["\r", "\u2028"]);
  assertEquals(found(String.raw`[^\r\n\p{L}]?+\p{L}+`, "«ab"), ["«ab"]);
  assertEquals(found(String.raw`[\-\]a-c^]`, "-]b^d"), ["-", "]", "b", "^"]);
});

Deno.test("Split pattern: what may take long, and what is not understood, is refused", () => {
  const slow = ["(a+)+b", "(?:a+)+", "a*a*b", "a+b", "a+$", String.raw`\s*x`, "a{0,100}", "(?:a|aa){2}", "a*b|a|a+"];
  const unknown = [
    String.raw`\w+`,
    "[a-z&&b]",
    "[[:alpha:]]",
    "(?i:ss)",
    "(?=x)",
    "^a",
    "a+?",
    "x{2}+",
    String.raw`\p{Foo}`,
  ];
  const damaged = ["[", "(?:a", "\\", "a{3", "*", ")", "[]", "a|", "", "x".repeat(5000)];
  for (const pattern of [...slow, ...unknown, ...damaged]) assert("problem" in splitPattern(pattern), pattern);
});
