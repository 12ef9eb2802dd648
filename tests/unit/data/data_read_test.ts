/** Reading texts as documents: every format, files in packings, folders, web addresses, and what is refused. */

import { assert, assertEquals, assertMatch, assertRejects } from "@std/assert";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { filesOfInput } from "../../../cli/model/inputs/input_list.ts";
import { openInput, type ReadOptions } from "../../../cli/model/inputs/open_input.ts";
import { PieceCutter, type Pieces } from "../../../cli/model/inputs/pieces.ts";
import { speeches } from "../../../cli/model/inputs/speeches.ts";
import { textDocuments } from "../../../cli/model/inputs/text_documents.ts";
import { UserError } from "../../../cli/program/errors.ts";
import { withScratchFolder } from "../../support/scratch_folder.ts";
import { prngOf } from "../../support/small_prng.ts";

async function documentsIn(pieces: Pieces): Promise<string[]> {
  const documents: string[] = [];
  let text = "";
  for await (const batch of pieces) {
    for (const piece of batch) {
      text += piece.text;
      if (!piece.endsDocument) continue;
      documents.push(text);
      text = "";
    }
  }
  assertEquals(text, "", "the last document ends");
  return documents;
}

async function documentsOf(
  content: string | Uint8Array,
  { name = "text.txt", ...options }: ReadOptions & { name?: string } = {},
): Promise<string[]> {
  let documents: string[] = [];
  await withScratchFolder(async (folder) => {
    const path = `${folder}/${name}`;
    await Deno.writeFile(path, typeof content === "string" ? bytesOf(content) : content);
    documents = await documentsIn((await openInput(path, options)).pieces(() => {}));
  });
  return documents;
}

const bytesOf = (text: string) => new TextEncoder().encode(text);
const latin = (text: string) => Uint8Array.from(text, (letter) => letter.charCodeAt(0));
const prose = "It was the best of times, it was the worst of times, it was the age of wisdom.\n";

/** The sentence about a file with this content, and the next step. */
async function refusalOf(
  content: string | Uint8Array,
  options: ReadOptions & { name?: string } = {},
): Promise<string> {
  const error = await assertRejects(() => documentsOf(content, options), UserError);
  return `${error.message} => ${error.next}`;
}

function utf16(text: string, isLittleEndian: boolean): Uint8Array {
  const view = new DataView(new ArrayBuffer(2 * text.length));
  for (let i = 0; i < text.length; i++) view.setUint16(2 * i, text.charCodeAt(i), isLittleEndian);
  return new Uint8Array(view.buffer);
}

Deno.test("speeches: 233 documents, 10.7 MB", async () => {
  const documents = await documentsIn(speeches());
  assertEquals(documents.length, 233);
  const bytes = documents.reduce((sum, text) => sum + bytesOf(text).length, 0);
  assert(bytes > 10_700_000 && bytes < 10_800_000, `${bytes} bytes`);
});

Deno.test("Text: a file is one document; <|endoftext|> on a line of its own ends one, within a line it is text", async () => {
  assertEquals(await documentsOf("one\n\nstill one\n"), ["one\n\nstill one"]);
  assertEquals(await documentsOf("one\n<|endoftext|>\ntwo\n \t<|endoftext|> \r\n\n<|endoftext|>\nthree"), [
    "one",
    "two",
    "three",
  ]);
  const mention = "It ends with <|endoftext|>, or so.\n<|endoftext|> begins a line";
  assertEquals(await documentsOf(mention), [mention]);
});

Deno.test("Text: a separator of the owner's separates anywhere", async () => {
  assertEquals(await documentsOf("one<|endoftext|>two<|endoftext|>", { separator: "<|endoftext|>" }), ["one", "two"]);
  assertEquals(await documentsOf("one\n---\ntwo --- three", { separator: "---" }), ["one", "two ", " three"]);
});

Deno.test("Text: line ends become \\n, a byte order mark goes, a replacement character stays", async () => {
  assertEquals(await documentsOf("\ufeffone\r\ntwo\r\n"), ["one\ntwo"]);
  assertEquals(await documentsOf("odd \ufffd but UTF-8"), ["odd \ufffd but UTF-8"]);
});

Deno.test("Text: UTF-16 with its mark is read in either order of the bytes", async () => {
  const text = "Übergröße, 他们说今天天气很好\n<|endoftext|>\n𝒳 and more";
  const expected = ["Übergröße, 他们说今天天气很好", "𝒳 and more"];
  for (const isLittleEndian of [true, false]) {
    assertEquals(await documentsOf(utf16(`\ufeff${text}`, isLittleEndian)), expected);
  }
});

async function* chunksOf(text: string, most: number, below: (count: number) => number) {
  for (let at = 0; at < text.length;) {
    const end = at + 1 + below(most);
    yield text.slice(at, end);
    at = end;
  }
}

Deno.test("Text: documents are the same wherever chunks end", async () => {
  const below = prngOf(7);
  const parts = [
    "a",
    " ",
    "\n",
    "\n\n",
    "\r\n",
    "<|endoftext|>",
    "\n<|endoftext|>\n",
    "x".repeat(900),
    "y\n".repeat(600),
  ];
  for (let round = 0; round < 200; round++) {
    const text = Array.from({ length: 40 }, () => parts[below(parts.length)]).join("");
    const whole = await documentsIn(textDocuments(chunksOf(text, 1e9, below), null));
    for (const most of [3, 100, 3000]) {
      assertEquals(
        await documentsIn(textDocuments(chunksOf(text, most, below), null)),
        whole,
        `round ${round}, chunks of ${most}`,
      );
    }
  }
});

Deno.test("Pieces: they end at blank lines, at lines far from one, otherwise anywhere but within a character", () => {
  const lengths = (text: string) => {
    const cutter = new PieceCutter();
    const pieces = [...cutter.add(text), ...cutter.end()];
    assertEquals(pieces.map((piece) => piece.text).join(""), text);
    return pieces.map((piece) => piece.text.length);
  };
  const paragraph = `${"word ".repeat(299)}word.\n\n`;
  assert(lengths(paragraph.repeat(20).trimEnd()).slice(0, -1).every((length) => length > 2048 && length < 4096));
  assert(lengths(`${"line\n".repeat(5000)}end`).slice(0, -1).every((length) => length > 8192 && length < 8200));
  assert(lengths("😀".repeat(100_000)).every((length) => length % 2 === 0 && length <= 65_536));
});

Deno.test("JSON Lines: the field's text, objects by dots, strings as they are; null and missing ones are left out", async () => {
  const lines = [{ text: "one" }, { text: null }, { id: 3 }, { text: "two\n<|endoftext|>\nstill two" }];
  const content = `${lines.map((line) => JSON.stringify(line)).join("\n\n")}\n`;
  assertEquals(await documentsOf(content, { name: "a.jsonl" }), ["one", "two\n<|endoftext|>\nstill two"]);
  assertEquals(await documentsOf(content, { format: "jsonl" }), ["one", "two\n<|endoftext|>\nstill two"]);
  const nested = '{"data":{"text":"in it"}}\n{"data.text":"of that name"}\n"a string"\n';
  assertEquals(await documentsOf(nested, { name: "a.ndjson", field: "data.text" }), [
    "in it",
    "of that name",
    "a string",
  ]);
});

Deno.test("JSON: a list of records or strings", async () => {
  assertEquals(await documentsOf('[{"text":"one"},\n "two"]', { name: "a.json" }), ["one", "two"]);
  assertMatch(await refusalOf('{"text":"one"}', { name: "a.json" }), /not a list of records => .*jq/);
});

Deno.test("CSV: quoted fields with delimiters and line ends, other delimiters, blank lines", async () => {
  const csv = 'id,text\r\n1,"a ""longer"" one,\r\nof two lines"\r\n\r\n2,plain\r\n3,\r\n4,"last"';
  assertEquals(await documentsOf(csv, { name: "a.csv" }), ['a "longer" one,\r\nof two lines', "plain", "last"]);
  for (const [delimiter, name] of [["\t", "a.tsv"], [";", "a.csv"], ["|", "a.csv"]]) {
    assertEquals(await documentsOf(`id${delimiter}text\n1${delimiter}one, or so\n`, { name: name! }), ["one, or so"]);
  }
  assertMatch(
    await refusalOf("id,text\n1,one,two\n", { name: "a.csv" }),
    /record 2 has 3 fields, and the first names 2/,
  );
  assertMatch(await refusalOf('id,text\n1,"one\n', { name: "a.csv" }), /never closed/);
});

Deno.test("Records: a field that none has is refused with those there are, one without text with the others", async () => {
  assertMatch(await refusalOf('{"body":"x"}\n', { name: "a.jsonl" }), /in the field 'text' => .*'body'/);
  assertMatch(
    await refusalOf('{"text":5,"body":"x"}\n', { name: "a.jsonl" }),
    /'text' of line 1 does not hold text => .*body/,
  );
  assertMatch(await refusalOf('{"text":"x"}\n{"text":\n', { name: "a.jsonl" }), /line 2 is not JSON/);
  assertMatch(await refusalOf("[1]\n", { name: "a.jsonl" }), /line 1 is not a record with fields/);
});

Deno.test("Packed inputs: gzip and zstd by their bytes, several members, cut off", async () => {
  const [one, two] = [bytesOf("one\n<|endoftext|>\n"), bytesOf("two")];
  for (const pack of [gzipSync, zstdCompressSync]) {
    const packed = new Uint8Array([...pack(one), ...pack(two)]);
    assertEquals(await documentsOf(packed, { name: "any.name" }), ["one", "two"]);
    assertMatch(await refusalOf(packed.subarray(0, packed.length - 6)), /damaged or cut off/);
  }
  assertEquals(await documentsOf(new Uint8Array(gzipSync('{"text":"one"}\n')), { name: "a.jsonl.gz" }), ["one"]);
});

Deno.test("Formats are known by their bytes, and refused with the command that makes text of them", async () => {
  const wide = utf16(prose, true);
  const cases: [string, string | Uint8Array, RegExp][] = [
    ["zip", "PK\x03\x04\x14\0word/document.xml", /it is a ZIP archive.* => .*unzip /],
    ["pdf", "%PDF-1.7\n%\xe2\xe3", /it is a PDF document => Take its text out: pdftotext /],
    ["tar", `${"name".padEnd(257, "\0")}ustar\0`, /it is a tar archive => .*tar -xf/],
    ["UTF-16 without a mark", wide, /it is UTF-16LE => .*iconv -f UTF-16LE -t utf-8 /],
    ["the same, big end first", Uint8Array.of(0, ...wide.subarray(0, -1)), /it is UTF-16BE => .*iconv -f UTF-16BE /],
    ["UTF-32", Uint8Array.of(0xff, 0xfe, 0, 0, 65, 0, 0, 0), /it is UTF-32 => .*iconv -f UTF-32 /],
    ["a hole", `${prose.repeat(30)}${"\0".repeat(512)}${prose}`, /byte 2370 is zero.* => .*tr -d/],
    ["latin1", Uint8Array.of(...bytesOf(prose), 0xe9, 0x0a), /byte 79 is not => .*iconv -f latin1 /],
    ["damaged", Uint8Array.of(...bytesOf(`é${prose}`), 0xe9, 0x0a), /byte 81 is not => .*iconv -c -f utf-8 /],
    ["damaged below a mark", Uint8Array.of(0xef, 0xbb, 0xbf, 0x61, 0xff), /byte 4 is not/],
    ["damaged far on", latin(`${prose.repeat(20_000)}\xff`), /byte 1580000 is not/],
    ["binary", Uint8Array.from({ length: 999 }, (_, i) => 1 + i * 37 % 255), /it is a binary file => Pass a text file/],
    ["Parquet that is damaged", "PAR1\0\0\0\0PAR1", /as a Parquet table: /],
    ["records", '{"text": "one"}\n', /as prose: it begins as a JSON record does => Prepare it with .* --format jsonl /],
  ];
  for (const [name, content, says] of cases) assertMatch(await refusalOf(content), says, name);
  assertMatch(await refusalOf("plain", { format: "parquet" }), /as parquet: it does not begin as one/);
  assertEquals(await documentsOf('{"text": "one"}\n', { format: "text" }), ['{"text": "one"}']);
});

Deno.test("Parquet: a column in groups of rows, of any packing, also inside a column of records", async () => {
  const rows = (field: string) => documentsOf(Deno.readFileSync("tests/vectors/data/rows.parquet"), { field });
  assertEquals(await rows("text"), ["the first row", "row two, in zstd", "日本語の行"]);
  assertEquals(await rows("meta.title"), ["one", "two"]);
  assertMatch(
    await refusalOf(Deno.readFileSync("tests/vectors/data/rows.parquet"), { field: "body" }),
    /no column 'body' => .*'id', 'text', 'meta'/,
  );
});

Deno.test("A folder is its files by name, deep ones too; hidden ones are left out", async () => {
  await withScratchFolder(async (folder) => {
    await Deno.mkdir(`${folder}/b/deep`, { recursive: true });
    for (const name of ["c.txt", "a.txt", ".hidden", "b/deep/x.txt"]) {
      await Deno.writeTextFile(`${folder}/${name}`, name);
    }
    assertEquals(
      (await filesOfInput(folder)).map((path) => path.slice(folder.length)),
      ["/a.txt", "/b/deep/x.txt", "/c.txt"],
    );
    await Deno.mkdir(`${folder}/empty`);
    await assertRejects(() => filesOfInput(`${folder}/empty`), UserError, "no file in the folder");
    await assertRejects(() => filesOfInput(`${folder}/none`), UserError, "none");
  });
});

Deno.test("A web address: read in ranges, and a broken download goes on where it broke", async () => {
  const content = bytesOf(prose.repeat(40_000));
  let version = '"1"';
  const asked: string[] = [];
  const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, (request) => {
    const range = request.headers.get("range") ?? "";
    asked.push(range);
    if (request.url.endsWith("/none")) return new Response("no", { status: 404 });
    if (request.url.endsWith("/whole")) return new Response("all");
    const [, from = 0, to = 0] = (/bytes=(\d+)-(\d+)/.exec(range) ?? []).map(Number);
    const part = content.slice(from, Math.min(to + 1, from + 1_000_000)); // a server that breaks off
    return new Response(part, {
      status: 206,
      headers: { "content-range": `bytes ${from}-${from + part.length - 1}/${content.length}`, etag: version },
    });
  });
  try {
    const url = (path: string) => `http://127.0.0.1:${server.addr.port}/${path}`;
    const input = await openInput(url("a.txt"), {});
    asked.length = 0;
    assertEquals((await documentsIn(input.pieces(() => {}))).join(""), prose.repeat(40_000).trimEnd());
    assertEquals(asked.map((range) => range.split("-")[0]), [
      "bytes=0",
      "bytes=1000000",
      "bytes=2000000",
      "bytes=3000000",
    ]);
    version = '"2"';
    await assertRejects(() => documentsIn(input.pieces(() => {})), UserError, "changed while it was read");
    await assertRejects(() => openInput(url("none"), {}), UserError, "the server answered 404");
    await assertRejects(() => openInput(url("whole"), {}), UserError, "sends no parts of files");
  } finally {
    await server.shutdown();
  }
});
