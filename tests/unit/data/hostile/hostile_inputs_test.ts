/**
 * Texts to prepare that damage or a stranger changed: each is read, or refused in a sentence, in bounded time and memory.
 */

import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { openInput, type ReadOptions } from "../../../../cli/model/inputs/open_input.ts";
import { csvRecords } from "../../../../cli/model/inputs/csv_records.ts";
import { jsonLines, jsonList } from "../../../../cli/model/inputs/json_records.ts";
import type { Pieces } from "../../../../cli/model/inputs/pieces.ts";
import { readQuestions } from "../../../../cli/model/eval/choices.ts";
import { readCompletion, RequestProblem } from "../../../../cli/model/serve/completion_request.ts";
import { TrainedTokenizer } from "../../../../core/tokenizer/trained_tokenizer.ts";
import { UserError } from "../../../../cli/program/errors.ts";
import { changedBytes, changedJson, mustEndInSentence } from "../../../support/mutations.ts";
import { withMemoryFolder } from "../../../support/scratch_folder.ts";
import { prngOf } from "../../../support/small_prng.ts";
import { cases } from "../../../support/whole.ts";

const isSentence = (error: unknown) => error instanceof UserError && (error.next ?? "") !== "";
const bytesOf = (text: string) => new TextEncoder().encode(text);

/** How many characters its documents have. */
async function lengthOf(pieces: Pieces): Promise<number> {
  let length = 0;
  for await (const batch of pieces) for (const { text } of batch) length += text.length;
  return length;
}

async function lengthIn(path: string, options: ReadOptions = {}): Promise<number> {
  return await lengthOf((await openInput(path, options)).pieces(() => {}));
}

const rows = [{ text: "one\n\ntwo", id: 1 }, { text: 'with "marks", and\nlines', id: 2 }, {
  text: "Übergröße 他们 😀",
}];
const lines = rows.map((row) => JSON.stringify(row)).join("\n");
const csv = 'id,text\r\n1,"a ""longer"" one,\r\nof two lines"\r\n\r\n2,plain\r\n3,\r\n4,"last"';
const utf16 = (text: string) => new Uint8Array(Uint16Array.from(`\ufeff${text}`, (each) => each.charCodeAt(0)).buffer);

const inputs: [name: string, content: Uint8Array, options?: ReadOptions][] = [
  ["a.jsonl", bytesOf(lines)],
  ["a.json", bytesOf(JSON.stringify(rows))],
  ["a.csv", bytesOf(csv)],
  ["a.txt", bytesOf("some prose, 他们\n<|endoftext|>\nand more é of it\n".repeat(40))],
  ["wide.txt", utf16("Übergröße, 他们说今天\n<|endoftext|>\n and more".repeat(20))],
  ["a.jsonl.gz", new Uint8Array([...gzipSync(lines), ...gzipSync(`\n${lines}`)])],
  ["a.jsonl.zst", new Uint8Array([...zstdCompressSync(lines), ...zstdCompressSync(`\n${lines.repeat(50)}`)])],
  ["rows.parquet", Deno.readFileSync("tests/vectors/data/rows.parquet")],
  ["nested.parquet", Deno.readFileSync("tests/vectors/data/rows.parquet"), { field: "data.text" }],
];

for (const [name, content, options] of inputs) {
  Deno.test(`Hostile inputs: ${name}, changed anywhere, is read or refused in a sentence`, async () => {
    await withMemoryFolder(async (folder) => {
      const pick = prngOf(content.length);
      const path = `${folder}/${name}`;
      const parsed = name === "a.jsonl" || name === "a.json";
      for (let i = 0; i < cases(3000); i++) {
        const text = new TextDecoder().decode(content);
        const changed = parsed && pick(2) === 0
          ? bytesOf(
            name === "a.json"
              ? changedJson(text, pick)
              : text.split("\n").map((line) => changedJson(line, pick)).join("\n"),
          )
          : changedBytes(content, pick);
        await Deno.writeFile(path, changed);
        await mustEndInSentence(`${name}, change ${i}`, () => lengthIn(path, options ?? {}), isSentence);
      }
    });
  });
}

Deno.test("Hostile inputs: Parquet whose metadata claims lists, rows, pages and columns that the file cannot hold", async () => {
  await withMemoryFolder(async (folder) => {
    const whole = Deno.readFileSync("tests/vectors/data/rows.parquet");
    const path = `${folder}/a.parquet`;
    const withMetadata = async (metadata: number[]) => {
      const end = new Uint8Array(8);
      new DataView(end.buffer).setUint32(0, metadata.length, true);
      end.set(bytesOf("PAR1"), 4);
      await Deno.writeFile(path, new Uint8Array([...whole.subarray(0, 200), ...metadata, ...end]));
      return (await assertRejects(() => lengthIn(path), UserError)).message;
    };
    const huge = [0xff, 0xff, 0xff, 0xff, 0x07];
    assertMatch(await withMetadata([0x19, 0xf8, ...huge, 0]), /a list of 2147483647 values/);
    assertMatch(
      await withMetadata([0x19, ...Array.from({ length: 200 }, () => [0xf9, 0x80, 0x80, 0x80, 0x10]).flat(), 0]),
      /a list of/,
    );
    assertMatch(await withMetadata(Array.from({ length: 5000 }, () => 0x1c)), /nested too deeply/);
    assertMatch(await withMetadata([0x16, ...Array.from({ length: 5000 }, () => 0x80), 0, 0]), /more than 64 bits/);
  });
});

async function* chunksOf(chunk: string, count: number, { first = "", last = "" } = {}): AsyncGenerator<string> {
  yield first;
  for (let i = 0; i < count; i++) yield chunk;
  yield last;
}

const place = { place: "a", field: "text" };

Deno.test("Hostile inputs: records without an end are refused, and long ones read, in time that grows with their length alone", async () => {
  const part = "a".repeat(16_384);
  const refused = async (pieces: Pieces, says: RegExp) =>
    assertMatch((await assertRejects(() => lengthOf(pieces), UserError)).message, says);
  await refused(csvRecords(chunksOf(part, 5000), place), /record is too long/);
  await refused(csvRecords(chunksOf(part, 5000, { first: 'id,text\n1,"' }), place), /record is too long/);
  await refused(csvRecords(chunksOf(",".repeat(16_384), 5000, { first: "id,text\n" }), place), /record is too long/);
  await refused(jsonLines(chunksOf(part, 5000), place), /line 1 is longer than/);
  await refused(jsonList(chunksOf(part, 5000, { first: '["' }), place), /record 1 is longer than/);
  await refused(jsonList(chunksOf("[[", 5000, { first: '["' }), place), /is not JSON/);
  const options = { first: '{"text":"', last: '"}' };
  assertEquals(await lengthOf(jsonLines(chunksOf(part, 1000, options), place)), 1000 * part.length);
  const list = { first: '[{"text":"', last: '"}]' };
  assertEquals(await lengthOf(jsonList(chunksOf(part, 1000, list), place)), 1000 * part.length);
});

async function* piecesIn(text: string, pick: (below: number) => number): AsyncGenerator<string> {
  for (let at = 0; at < text.length;) {
    const end = at + 1 + pick(30);
    yield text.slice(at, end);
    at = end;
  }
}

Deno.test("JSON lists: their records are the same wherever chunks end, and JSON.parse agrees about what is a list", async () => {
  const pick = prngOf(3);
  const whole = JSON.stringify([...rows, "a string ]", { text: '\\"[{' }, { text: "x", more: [{}, [[]]] }], null, 1);
  for (let i = 0; i < cases(20_000); i++) {
    const text = pick(10) === 0 ? whole : new TextDecoder().decode(changedBytes(bytesOf(whole), pick));
    let parsed: unknown;
    try {
      parsed = JSON.parse(text);
    } catch { /* not JSON */ }
    const expected = Array.isArray(parsed) &&
      parsed.every((each) =>
        typeof each === "string" || (each !== null && typeof each === "object" && !Array.isArray(each))
      );
    let found: number | null = null;
    if (
      await mustEndInSentence(`change ${i}: ${text}`, async () => {
        found = await lengthOf(jsonList(piecesIn(text, pick), place));
      }, isSentence)
    ) {
      assert(expected, `taken for a list: ${text}`);
      const texts = (parsed as (string | { text?: string })[]).map((each) =>
        typeof each === "string" ? each : each.text ?? ""
      );
      const blank = /^[\r\n]+|[\r\n]+$/g; // as pieces.ts leaves them out
      const lengths = texts.map((each) => /\S/.test(each) ? each.replace(blank, "").length : 0);
      assertEquals(found, lengths.reduce((sum, each) => sum + each, 0), text);
    }
  }
});

Deno.test("Packed inputs: a gigabyte in a few bytes is read in bounded memory", async () => {
  await withMemoryFolder(async (folder) => {
    const megabytes = cases(1000);
    const text = new Uint8Array(megabytes * 1_000_000).fill(0x78);
    for (const [name, pack] of [["a.gz", gzipSync], ["a.zst", zstdCompressSync]] as const) {
      await Deno.writeFile(`${folder}/${name}`, new Uint8Array(pack(text)));
      let most = 0;
      const before = Deno.memoryUsage().rss;
      const { pieces } = await openInput(`${folder}/${name}`, {});
      for await (const _ of pieces(() => {})) most = Math.max(most, Deno.memoryUsage().rss - before);
      assert(most < 300_000_000, `${name}: ${most} bytes more`);
    }
  });
});

Deno.test("Packed inputs: a changed byte in zstd with a checksum is noticed, a window of gigabytes refused", async () => {
  await withMemoryFolder(async (folder) => {
    const claims = Uint8Array.of(0x28, 0xb5, 0x2f, 0xfd, 0, 21 << 3, 1, 0, 0); // 2 GiB of window, one empty block
    await Deno.writeFile(`${folder}/a.zst`, claims);
    await assertRejects(() => lengthIn(`${folder}/a.zst`), UserError, "zstd cannot unpack it");
    const noise = Uint8Array.from({ length: 5000 }, (_, i) => 97 + (i * i * 7 + (i >> 3)) % 25);
    const packed = new Uint8Array(zstdCompressSync(noise, { params: { 201: 1 } })); // ZSTD_c_checksumFlag
    packed[packed.length >> 1]! ^= 1;
    await Deno.writeFile(`${folder}/a.zst`, packed);
    await assertRejects(() => lengthIn(`${folder}/a.zst`), UserError, "zstd cannot unpack it");
  });
});

Deno.test("Hostile questions: a line without an answer is refused, not answered by the first choice", () => {
  const line = { ctx: "It is", endings: ["one", "two"], label: "" };
  for (const label of ["", " ", "-1", "2", "1e0", "0x1", null, 1.5, 1e12]) {
    const error = (() => {
      try {
        readQuestions(JSON.stringify({ ...line, label }), "a");
      } catch (error) {
        return error;
      }
    })();
    assert(isSentence(error), `label ${label}`);
  }
  assertEquals(readQuestions(JSON.stringify({ ...line, label: "1" }), "a")[0]!.answer, 1);
});

Deno.test("Hostile questions and requests: changed ones are read or refused in a sentence", async () => {
  const pick = prngOf(5);
  const questions = [
    { question: "Which?", choices: { text: ["a", "b"], label: ["A", "B"] }, answerKey: "B" },
    { ctx: "It is", endings: ["one", "two"], label: "1" },
    { query: "What?", choices: ["a", "b", "c"], gold: 2 },
  ].map((each) => JSON.stringify(each));
  const request = JSON.stringify({
    ...{ model: "m", prompt: "some text", max_tokens: 5, temperature: 0.5, top_p: 0.9, top_k: 4, seed: 1 },
    ...{ stop: ["x"], stream: false, n: 1, echo: false },
  });
  const tokenizer = new TrainedTokenizer({ merges: [] });
  const limits = { contextLength: 64, mostTokens: 32, promptCharacters: 1000 };
  for (let i = 0; i < cases(30_000); i++) {
    const line = changedJson(questions[pick(3)]!, pick);
    await mustEndInSentence(line, () => readQuestions(line, "a"), isSentence);
    let body: unknown;
    try {
      body = JSON.parse(changedJson(request, pick));
    } catch {
      continue; // the server says that a body must be JSON
    }
    const read = () => readCompletion(body, { tokenizer, limits, randomSeed: 1 });
    await mustEndInSentence(`request ${i}`, read, (error) => error instanceof RequestProblem);
  }
});
