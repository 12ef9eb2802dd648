/** Reading text: the built-in speeches, text files of every shape, and the files that are refused. */

import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { readCorpus } from "../../../cli/model/data/corpus.ts";
import { UserError } from "../../../cli/program/errors.ts";
import { withScratchFolder } from "../../support/scratch_folder.ts";

async function documentsOf(content: string | Uint8Array): Promise<string[]> {
  let documents: string[] = [];
  await withScratchFolder(async (folder) => {
    const path = `${folder}/text.txt`;
    await Deno.writeFile(path, typeof content === "string" ? new TextEncoder().encode(content) : content);
    documents = (await readCorpus(path)).documents.map(({ text }) => text);
  });
  return documents;
}

async function assertRefused(content: string | Uint8Array, includes: string): Promise<void> {
  await assertRejects(() => documentsOf(content), UserError, includes);
}

Deno.test("readCorpus: 'sotu' is 233 speeches, 10.7 MB, each with its own name", async () => {
  const { documents } = await readCorpus("sotu");
  assertEquals(documents.length, 233);
  assertEquals(new Set(documents.map(({ id }) => id)).size, 233);
  assertEquals(documents[0]?.id, "sotu-1790-george-washington");
  const bytes = documents.reduce((sum, { text }) => sum + new TextEncoder().encode(text).length, 0);
  assert(bytes > 10_700_000 && bytes < 10_800_000, `${bytes} bytes`);
});

Deno.test("readCorpus: a file is cut at blank lines into documents of some length", async () => {
  const paragraph = "A line of text that is repeated until it fills a paragraph.\n".repeat(10);
  const text = Array.from({ length: 20 }, () => paragraph).join("\n");
  const documents = await documentsOf(text);
  assert(documents.length >= 4 && documents.length <= 6, `${documents.length} documents`);
  assertEquals(documents.join("\n\n"), text.trim());
});

Deno.test("readCorpus: a file without blank lines is cut at line ends", async () => {
  const text = "One line after the other, never a blank one.\n".repeat(2000);
  const documents = await documentsOf(text);
  assert(documents.length > 5, `${documents.length} documents`);
  assertEquals(documents.join("\n"), text.trim());
});

Deno.test("readCorpus: <|endoftext|> separates documents where a file has it", async () => {
  assertEquals(await documentsOf("one\n\nstill one<|endoftext|>\ntwo<|endoftext|>\n"), ["one\n\nstill one", "two"]);
});

Deno.test("readCorpus: line ends become \\n, a byte order mark goes", async () => {
  assertEquals(await documentsOf("\ufeffone\r\ntwo\r\n"), ["one\ntwo"]);
});

Deno.test("readCorpus: a replacement character in the text is text", async () => {
  assertEquals(await documentsOf("odd \ufffd but UTF-8"), ["odd \ufffd but UTF-8"]);
});

Deno.test("readCorpus: files without text or in another encoding are refused", async () => {
  await assertRefused("", "it is empty");
  await assertRefused(" \n\n ", "it is empty");
  await assertRefused(Uint8Array.of(0x63, 0x61, 0x66, 0xe9, 0x0a), "byte 3 is not");
  await assertRefused(Uint8Array.of(0xef, 0xbb, 0xbf, 0x61, 0xff), "byte 4 is not");
});

/** The sentence about a file with this content, and the next step. */
async function refusalOf(content: string | Uint8Array): Promise<string> {
  const error = await assertRejects(() => documentsOf(content), UserError);
  return `${error.message} => ${error.next}`;
}

const bytesOf = (text: string) => new TextEncoder().encode(text);
const prose = "It was the best of times, it was the worst of times, it was the age of wisdom.\n";

Deno.test("readCorpus: a format is named by its bytes, with the command that makes text of it", async () => {
  const utf16 = Uint8Array.from(prose, (letter) => letter.charCodeAt(0)).reduce<number[]>(
    (all, byte) => [...all, byte, 0],
    [],
  );
  const cases: [string, string | Uint8Array, RegExp][] = [
    [
      "gzip",
      Uint8Array.of(0x1f, 0x8b, 8, 0, 0, 1),
      /it is compressed with gzip => Unpack it: gzip -dc \S+text\.txt > /,
    ],
    ["zip", "PK\x03\x04\x14\0word/document.xml", /it is a ZIP archive.* => .*unzip /],
    ["pdf", "%PDF-1.7\n%\xe2\xe3", /it is a PDF document => Take its text out: pdftotext /],
    ["Parquet", "PAR1\x15\x04", /it is a Parquet table/],
    ["tar", `${"name".padEnd(257, "\0")}ustar\0`, /it is a tar archive => .*tar -xf/],
    ["UTF-16", Uint8Array.of(0xff, 0xfe, ...utf16), /it is UTF-16 => .*iconv -f UTF-16 -t utf-8 /],
    ["UTF-16 without a mark", Uint8Array.from(utf16), /it is UTF-16LE => .*iconv -f UTF-16LE -t utf-8 /],
    ["the same, big end first", Uint8Array.of(0, ...utf16.slice(0, -1)), /it is UTF-16BE => .*iconv -f UTF-16BE /],
    [
      "a hole",
      `${prose.repeat(30)}${"\0".repeat(512)}${prose}`,
      /512 of its \d+ bytes are zero, the first at 2370 => .*tr -d/,
    ],
    ["latin1", Uint8Array.of(...bytesOf(prose), 0xe9, 0x0a), /byte 79 is not => .*iconv -f latin1 /],
    ["damaged", Uint8Array.of(...bytesOf(`é${prose}`), 0xe9, 0x0a), /byte 81 is not => .*iconv -c -f utf-8 /],
    ["binary", Uint8Array.from({ length: 999 }, (_, i) => 1 + i * 37 % 255), /it is a binary file => Pass a text file/],
  ];
  for (const [name, content, says] of cases) assertMatch(await refusalOf(content), says, name);
});

Deno.test("readCorpus: records are not prose: JSON Lines, JSON, CSV and TSV are refused with the field to take out", async () => {
  const record = (i: number) => JSON.stringify({ id: `${i}`, "text": `A longer text, number ${i}.`, meta: { a: 1 } });
  const lines = Array.from({ length: 9 }, (_, i) => record(i)).join("\n");
  assertMatch(await refusalOf(lines), /it is JSON Lines, records with fields => .*jq -r '\.text \/\/ empty/);
  assertMatch(await refusalOf(`[${lines.replaceAll("\n", ",\n")}]`), /it is JSON, records/);
  assertMatch(await refusalOf('{\n  "chapters": [\n    "one"\n  ]\n}\n'), /it is JSON, records/);
  const rows = Array.from({ length: 9 }, (_, i) => [`${i}`, `"A ""longer"" text,\nnumber ${i}"`, "en"]);
  const csv = [["id", "body", "language"], ...rows].map((row) => row.join(",")).join("\n");
  assertMatch(await refusalOf(csv), /it is a table of 3 columns \(CSV\) => .*python3 -c '.*row\[1\]/);
  assertMatch(await refusalOf(csv.replaceAll(",", "\t")), /it is a table of 3 columns \(TSV\)/);
});

Deno.test("readCorpus: prose with braces, quotation marks, commas and tables in it is prose", async () => {
  const texts = [
    '{ "So he said", they wrote }, and nobody answered.\n',
    "[1] A footnote first.\n",
    prose.repeat(30),
    "Tyger Tyger, burning bright,\nIn the forests of the night;\nWhat immortal hand or eye,\nCould frame thy fearful symmetry?\n",
    `${prose}a,b,c\n1,2,3\n4,5,6\n7,8,9\n1,2,3\n4,5,6\n`,
    "Apples, pears, plums, and so on.\n".repeat(30),
  ];
  for (const text of texts) assertEquals((await documentsOf(text)).join("\n"), text.trim());
});

Deno.test("readCorpus: <|endoftext|> within a sentence is a word, unless it cuts the whole text into small documents", async () => {
  const mention = "Each document ends with `<|endoftext|>`, which is a token of its own.\n";
  const text = `${prose.repeat(90)}\n${mention}${prose.repeat(90)}`;
  const documents = await documentsOf(text);
  assertEquals(documents.length, 2); // cut at the blank line
  assert(documents.some((each) => each.includes(mention.trim())));
  const inline = Array.from({ length: 20 }, (_, i) => `Document ${i}.`).join("<|endoftext|>");
  assertEquals((await documentsOf(inline)).length, 20);
});

Deno.test("readCorpus: a missing file and a folder are refused by name", async () => {
  await withScratchFolder(async (folder) => {
    await assertRejects(() => readCorpus(`${folder}/none.txt`), UserError, "none.txt");
    await assertRejects(() => readCorpus(folder), UserError, "it is a folder");
  });
});
