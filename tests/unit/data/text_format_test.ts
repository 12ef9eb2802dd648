/** What a file is told to be by its content: formats by their bytes, records, and prose that looks like either. */

import { assertEquals, assertMatch } from "@std/assert";
import { binaryFormat, encodingOf, recordsIn } from "../../../cli/model/inputs/text_format.ts";

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);
const latin = (text: string): Uint8Array => Uint8Array.from(text, (letter) => letter.charCodeAt(0));

function utf16(text: string, isLittleEndian: boolean): Uint8Array {
  const view = new DataView(new ArrayBuffer(2 * text.length));
  for (let i = 0; i < text.length; i++) view.setUint16(2 * i, text.charCodeAt(i), isLittleEndian);
  return new Uint8Array(view.buffer);
}

const prose = "It was the best of times, it was the worst of times, it was the age of wisdom.\n";

const scripts: Record<string, string> = {
  English: prose,
  German: "Übergröße ist schön, sagte er.\n",
  Cyrillic: "Все счастливые семьи похожи друг на друга, 17 раз.\n",
  Greek: "Μῆνιν ἄειδε θεὰ Πηληϊάδεω Ἀχιλῆος.\n",
  Hebrew: "בראשית ברא אלהים את השמים ואת הארץ.\n",
  Hindi: "सभी मनुष्यों को गौरव और अधिकारों के मामले में जन्मजात स्वतन्त्रता।\n",
  Thai: "มนุษย์ทั้งหลายเกิดมามีอิสระ และเสมอภาคกัน\n",
  Chinese: "他们说今天天气很好我们去公园吧一二三\n",
  Japanese: "すべての人間は、生まれながらにして自由であり。\n",
  Korean: "모든 인간은 태어날 때부터 자유로우며.\n",
};

Deno.test("Text format: UTF-16 without a mark is named in every script and order of the bytes", () => {
  for (const [script, text] of Object.entries(scripts)) {
    for (const isLittleEndian of [true, false]) {
      const name = isLittleEndian ? "UTF-16LE" : "UTF-16BE";
      for (const count of [1, 300]) {
        const found = binaryFormat(utf16(text.repeat(count), isLittleEndian), "a.txt");
        assertEquals(found?.found, `it is ${name}`, `${script}, ${count} times`);
        assertMatch(found?.next ?? "", new RegExp(`iconv -f ${name} -t utf-8 a\\.txt > a\\.txt\\.utf8$`));
      }
    }
    assertEquals(binaryFormat(bytesOf(text.repeat(300)), "a.txt"), null, `${script} in UTF-8`);
  }
});

Deno.test("Text format: what is left of UTF-16 without its zero bytes is not text", () => {
  for (const script of ["Cyrillic", "Greek", "Hebrew", "Hindi", "Thai"]) {
    const left = utf16(scripts[script]!.repeat(300), true).filter((byte) => byte !== 0);
    assertEquals(binaryFormat(left, "a.txt")?.found, "it is a binary file", script);
  }
});

Deno.test("Text format: programs, audio, video and pictures are named by their first bytes", () => {
  const cases: [string, string][] = [
    ["MZ\x90\0\x03\0\0\0\x04\0\0\0\xff\xff\0\0", "it is a program (Windows)"],
    ["\x7fELF\x02\x01\x01\0\0\0", "it is a program (Linux)"],
    ["\xcf\xfa\xed\xfe\x07\0\0\x01\x03\0\0\0", "it is a program (macOS)"],
    ["\0asm\x01\0\0\0", "it is a program (WebAssembly)"],
    ["ID3\x03\0\0\0\0\x0fvTSSE\0\0\0", "it is audio (MP3)"],
    ["\xff\xfb\x90\x64\0\0\0", "it is audio (MP3)"],
    ["OggS\0\x02\0\0\0\0", "it is audio (Ogg)"],
    ["fLaC\0\0\0\x22\x10", "it is audio (FLAC)"],
    ["RIFF\x24\x08\0\0WAVEfmt \x10\0", "it is audio (WAV)"],
    ["\0\0\0\x20ftypM4A \0\0\0\0", "it is audio (M4A)"],
    ["\0\0\0\x20ftypisom\0\0\x02\0", "it is video (MP4)"],
    ["RIFF\x24\x08\0\0AVI LIST\x10\0", "it is video (AVI)"],
    ["\x1a\x45\xdf\xa3\x01\0\0\0", "it is video (Matroska or WebM)"],
    ["RIFF\x24\x08\0\0WEBPVP8 \0", "it is a picture (WebP)"],
    ["GIF89a\x01\0\x01\0", "it is a picture (GIF)"],
    ["BZh91AY&SY\x01\x02", "it is compressed with bzip2"],
    ["{\\rtf1\\ansi Hello}", "it is an RTF document"],
    ["%PDF-1.7\n1 0 obj", "it is a PDF document"],
  ];
  for (const [head, says] of cases) assertEquals(binaryFormat(latin(head), "a")?.found, says);
  for (const word of ["MZ", "ID3", "RIFF", "OggS", "fLaC", "GIF8", "BZh", "PAR1", "MThd", "GGUF", "12345678WAVE"]) {
    assertEquals(binaryFormat(bytesOf(`${word} is how this sentence begins.\n`), "a"), null, word);
  }
});

Deno.test("Text format: logs with colours and manuals with backspaces are text", () => {
  for (const text of ["\x1b[32mok\x1b[0m all is well\n", "N\bNA\bAM\bME\bE\n"]) {
    assertEquals(binaryFormat(bytesOf(text.repeat(100)), "a"), null);
  }
  assertEquals(encodingOf(latin("caf\xe9\n"), { bad: 3, path: "a" }).found, "byte 3 is not");
});

const lines = (count: number, lineOf: (i: number) => string, ends = "\n") =>
  Array.from({ length: count }, (_, i) => lineOf(i)).join(ends) + ends;
const sentence = (i: number) => `${["The quick", "A lazy", "Some brown"][i % 3]} animal number ${i} jumps over the dog`;

const records: [name: string, text: string, says: RegExp, format: string][] = [
  [
    "pandas' default CSV",
    `,text,label\n${lines(30, (i) => `${i},"${sentence(i)}, again",${i % 2}`)}`,
    /table of 3 columns/,
    "csv",
  ],
  [
    "CSV with semicolons",
    `id;text;label\n${lines(30, (i) => `${i};${sentence(i)}${i % 3 ? ", yes" : ""};${i % 2}`)}`,
    /table of 3 columns/,
    "csv",
  ],
  ["CSV with bars", `id|text\n${lines(30, (i) => `${i}|${sentence(i)}`)}`, /table of 2 columns/, "csv"],
  [
    "CRLF, the last column quoted",
    `id,text\r\n${lines(30, (i) => `${i},"${sentence(i)}, so"`, "\r\n")}`,
    /table of 2 columns/,
    "csv",
  ],
  ["CRLF within a field", `id,text\r\n${lines(30, (i) => `${i},"one\r\ntwo"`, "\r\n")}`, /table of 2 columns/, "csv"],
  ["no names", lines(30, (i) => `${i},${sentence(i)},yes`), /table of 3 columns/, "csv"],
  ["no numbers, no quotation marks", `text,label\n${lines(30, (i) => `${sentence(i)},pos`)}`, /2 columns/, "csv"],
  ["spaces before quotation marks", `id, "text"\n${lines(30, (i) => `${i}, "te, xt ${i}"`)}`, /2 columns/, "csv"],
  [
    "one record with a field too many",
    `id,text\n${lines(30, (i) => i === 7 ? "7,a,b" : `${i},${sentence(i)}`)}`,
    /2 columns/,
    "csv",
  ],
  ["one column", `text\n${lines(30, (i) => `"He said ""${i}"", and left"`)}`, /1 column$/, "csv"],
  ["TSV", `id\ttext\n${lines(30, (i) => `${i}\t${sentence(i)}, yes`)}`, /2 columns/, "csv"],
  ["JSON Lines", lines(9, (i) => JSON.stringify({ id: `${i}`, text: sentence(i) })), /a JSON record/, "jsonl"],
  ["JSON Lines of lists", lines(30, (i) => JSON.stringify([i, "u", sentence(i)])), /a JSON list/, "jsonl"],
  ["JSON, a list of strings", JSON.stringify([sentence(1), sentence(2)]), /a JSON list/, "json"],
  ["JSON in lists in lists", '[\n [\n {"text":"x"}]]', /a JSON list/, "json"],
  ["JSON of a field with a list", '{\n  "chapters": [\n    "one"\n  ]\n}\n', /a JSON record/, "jsonl"],
  ["one record, then prose", `{"title": "A story"}\n${prose.repeat(20)}`, /a JSON record/, "jsonl"],
];

Deno.test("Text format: records are not taken for prose, and their format is named", () => {
  for (const [name, text, says, format] of records) {
    const found = recordsIn(bytesOf(text));
    assertMatch(found?.found ?? "prose", says, name);
    assertEquals(found?.format, format, name);
  }
});

const texts: [name: string, text: string][] = [
  ["prose", prose.repeat(30)],
  ["verse", lines(30, () => "Roses are red, violets are blue")],
  ["verse without spaces after its commas", lines(30, () => "床前明月光,疑是地上霜")],
  ["names", lines(30, (i) => `Smith, John ${i}`)],
  ["dialogue", lines(30, (i) => `Well, said he ${i}`)],
  ["dialogue in quotation marks", lines(30, (i) => `He said, "No, number ${i}."`)],
  ["a recipe", lines(30, (i) => `${i} cups flour, sifted`)],
  ["speakers before tabs", lines(30, (i) => `ALICE\tHello there ${i}`)],
  ["lines that end in commas", lines(30, () => "Tyger Tyger burning bright,")],
  ["code", lines(30, (i) => `call(${i});`)],
  ["indented by tabs", lines(30, (i) => `\tindented line ${i}`)],
  ["a list in YAML", lines(30, (i) => `- text: foo, ${i}\n  label: 1`)],
  ["a table below a sentence with as many commas", `${prose}a,b,c\n${lines(30, () => "1,2,3")}`],
  ["lines in quotation marks", lines(30, (i) => `"${sentence(i)}"`)],
  ["words in braces", '{ "So he said", they wrote }, and nobody answered.\n'],
  ["a quotation in braces", '{"quote": is how he began the book.}\nIt went on.\n'],
  ["a footnote", "[1] A footnote first.\n"],
  ["spoken first", `"Come in," she said. "Sit down."\n${prose}`],
];

Deno.test("Text format: prose that looks like records is prose", () => {
  for (const [name, text] of texts) assertEquals(recordsIn(bytesOf(text)), null, name);
});

Deno.test("Text format: sixty thousand characters of either are judged in no time", () => {
  for (
    const text of [`"${prose.repeat(800)}`, `id,text\n1,"${prose.repeat(800)}`, "[".repeat(65_536), "{".repeat(65_536)]
  ) {
    assertEquals(recordsIn(bytesOf(text)), null);
  }
});
