/** What a file is told to be by its content: formats by their bytes, records, and prose that looks like either. */

import { assertEquals, assertMatch } from "@std/assert";
import { binaryFormat, encodingOf, findRecords } from "../../../cli/model/data/text_format.ts";

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

Deno.test("Text format: zero bytes within text are a hole, wherever they are", () => {
  const texts = [
    `${prose.repeat(30)}${"\0".repeat(512)}${prose}`,
    `${prose}\0`.repeat(40),
    "one\0two \0three\n\0".repeat(40),
  ];
  for (const text of texts) assertMatch(binaryFormat(bytesOf(text), "a.txt")?.found ?? "", /bytes are zero, the first/);
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

const records: [name: string, text: string, says: RegExp, next: RegExp][] = [
  [
    "pandas' default CSV",
    `,text,label\n${lines(30, (i) => `${i},"${sentence(i)}, again",${i % 2}`)}`,
    /3 columns \(CSV\)/,
    /row\[1\].*\[1:\]/,
  ],
  [
    "CSV with semicolons",
    `id;text;label\n${lines(30, (i) => `${i};${sentence(i)}${i % 3 ? ", yes" : ""};${i % 2}`)}`,
    /3 columns \(separated by semicolons\)/,
    /row\[1\].*delimiter='\\''?;/,
  ],
  [
    "CSV with bars",
    `id|text\n${lines(30, (i) => `${i}|${sentence(i)}`)}`,
    /2 columns \(separated by bars\)/,
    /row\[1\]/,
  ],
  [
    "CRLF, the last column quoted",
    `id,text\r\n${lines(30, (i) => `${i},"${sentence(i)}, so"`, "\r\n")}`,
    /2 columns \(CSV\)/,
    /row\[1\]/,
  ],
  [
    "CRLF within a field",
    `id,text\r\n${lines(30, (i) => `${i},"one\r\ntwo, three"`, "\r\n")}`,
    /2 columns \(CSV\)/,
    /row\[1\]/,
  ],
  [
    "a name that ends in ?",
    `id,question?,answer\n${lines(30, (i) => `${i},${sentence(i)},no`)}`,
    /3 columns \(CSV\)/,
    /row\[1\]/,
  ],
  ["a long name", `id,${"x".repeat(50)}\n${lines(30, (i) => `${i},${sentence(i)}`)}`, /2 columns \(CSV\)/, /row\[1\]/],
  ["no names", lines(30, (i) => `${i},${sentence(i)},yes`), /3 columns \(CSV\)/, /newline=\S*\)\) if len/],
  [
    "no numbers, no quotation marks",
    `text,label\n${lines(30, (i) => `${sentence(i)},pos`)}`,
    /2 columns \(CSV\)/,
    /row\[0\]/,
  ],
  [
    "spaces before quotation marks",
    `id, "text"\n${lines(30, (i) => `${i}, "te, xt ${i}"`)}`,
    /2 columns \(CSV\)/,
    /skipinitialspace/,
  ],
  [
    "one record with a field too many",
    `id,text\n${lines(30, (i) => i === 7 ? "7,a,b" : `${i},${sentence(i)}`)}`,
    /2 columns \(CSV\)/,
    /len\(row\)>1/,
  ],
  ["one column", `text\n${lines(30, (i) => `"He said ""${i}"", and left"`)}`, /1 column \(CSV\)/, /row\[0\]/],
  ["TSV", `id\ttext\n${lines(30, (i) => `${i}\t${sentence(i)}, yes`)}`, /2 columns \(TSV\)/, /row\[1\]/],
  ["few records", 'id,text\n1,"one"\n2,"two"\n3,"three"\n', /2 columns \(CSV\)/, /row\[1\]/],
  [
    "JSON Lines",
    lines(9, (i) => JSON.stringify({ id: `${i}`, text: sentence(i) })),
    /JSON Lines, records with fields/,
    /'\.text \/\/ empty/,
  ],
  [
    "JSON Lines below a comment",
    `# data\n${lines(9, (i) => JSON.stringify({ text: sentence(i) }))}`,
    /JSON Lines, records with fields/,
    /'\.text/,
  ],
  [
    "JSON Lines of strings",
    lines(30, (i) => JSON.stringify(sentence(i))),
    /JSON Lines, strings in quotation marks/,
    /'\. \+ /,
  ],
  [
    "JSON Lines of lists",
    lines(30, (i) => JSON.stringify([i, "u", sentence(i)])),
    /JSON Lines, lists/,
    /'\.\[2\] \/\/ empty/,
  ],
  ["JSON, a list of strings", JSON.stringify([sentence(1), sentence(2)]), /JSON, lists/, /'\.\. \| strings \+ /],
  ["JSON in lists in lists", '[\n [\n {"text":"x"}]]', /JSON, records with fields/, /objects \| \.text/],
  [
    "JSON of a field with a list",
    '{\n  "chapters": [\n    "one"\n  ]\n}\n',
    /JSON, records with fields/,
    /\.\. \| strings/,
  ],
  [
    "JSON that was cut off",
    `[${lines(9, (i) => `${JSON.stringify({ text: sentence(i) })},`)} {"text": "it st`,
    /JSON, records/,
    /\.text/,
  ],
  [
    "JSON Lines with a damaged line",
    lines(30, (i) => i === 20 ? '{"text": oops' : JSON.stringify({ text: sentence(i) })),
    /JSON Lines, records/,
    /\.text/,
  ],
];

Deno.test("Text format: records are named and refused, with the command that takes their texts out", () => {
  for (const [name, text, says, next] of records) {
    const { refused } = findRecords(text, "a.txt");
    assertMatch(refused?.found ?? "prose", says, name);
    assertMatch(refused?.next ?? "", next, name);
  }
});

const isTable = /^each of its first \d+ lines has (one|\d) (comma|tab|semicolon)s?, as a table's would$/;

const texts: [name: string, text: string, doubt: RegExp | null][] = [
  ["prose", prose.repeat(30), isTable],
  ["verse", lines(30, () => "Roses are red, violets are blue"), isTable],
  ["verse without spaces after its commas", lines(30, () => "床前明月光,疑是地上霜"), isTable],
  ["names", lines(30, (i) => `Smith, John ${i}`), isTable],
  ["dialogue", lines(30, (i) => `Well, said he ${i}`), isTable],
  ["dialogue in quotation marks", lines(30, (i) => `He said, "No, number ${i}."`), isTable],
  ["a recipe", lines(30, (i) => `${i} cups flour, sifted`), isTable],
  ["speakers before tabs", lines(30, (i) => `ALICE\tHello there ${i}`), isTable],
  ["three lines of verse", lines(4, () => "Roses are red, violets are blue"), null],
  ["lines that end in commas", lines(30, () => "Tyger Tyger burning bright,"), null],
  ["code", lines(30, (i) => `call(${i});`), null],
  ["indented by tabs", lines(30, (i) => `\tindented line ${i}`), null],
  ["a list in YAML", lines(30, (i) => `- text: foo, ${i}\n  label: 1`), null],
  ["a table below a sentence with as many commas", `${prose}a,b,c\n${lines(30, () => "1,2,3")}`, isTable],
  [
    "a few lines in quotation marks",
    lines(5, (i) => `"${sentence(i)}"`),
    /^each line is in quotation marks, as in JSON$/,
  ],
  ["paragraphs in quotation marks", lines(60, (i) => i % 2 ? "" : `"${sentence(i)}"`), null],
  ["one record, then prose", `{"title": "A story"}\n${prose.repeat(20)}`, /^it begins as JSON does$/],
  ["words in braces", '{ "So he said", they wrote }, and nobody answered.\n', null],
  ["a quotation in braces", '{"quote": is how he began the book.}\nIt went on.\n', null],
  ["a footnote", "[1] A footnote first.\n", null],
  ["spoken first", `"Come in," she said. "Sit down."\n${prose}`, null],
];

Deno.test("Text format: prose that looks like records is prose; where that is unclear, it is said", () => {
  for (const [name, text, says] of texts) {
    const { refused, doubt } = findRecords(text, "a.txt");
    assertEquals(refused, null, name);
    if (says === null) assertEquals(doubt, null, name);
    else assertMatch(doubt ?? "no doubt", says, name);
  }
});

Deno.test("Text format: a megabyte of either is judged by its beginning", () => {
  for (const text of [`"${prose.repeat(20_000)}`, `id,text\n1,"${prose.repeat(20_000)}`, `[${"[".repeat(1_000_000)}`]) {
    assertEquals(findRecords(text, "a.txt").refused, null);
  }
});
