/** Reading text: the built-in speeches, text files of every shape, and the files that are refused. */

import { assert, assertEquals, assertRejects } from "@std/assert";
import { readCorpus } from "../../../cli/data/corpus.ts";
import { UserError } from "../../../cli/output/errors.ts";
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

Deno.test("readCorpus: a missing file and a folder are refused by name", async () => {
  await withScratchFolder(async (folder) => {
    await assertRejects(() => readCorpus(`${folder}/none.txt`), UserError, "none.txt");
    await assertRejects(() => readCorpus(folder), UserError, "it is a folder");
  });
});
