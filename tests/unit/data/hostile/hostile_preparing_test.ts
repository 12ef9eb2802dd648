/** What an interrupted preparation left, changed: it goes on to the same dataset, or begins anew and makes the same. */

import { assert, assertEquals, assertRejects } from "@std/assert";
import { type FolderRequest, prepareFolder } from "../../../../cli/model/prepare/prepare_folder.ts";
import { sha256Hex } from "../../../../cli/files/file_entry.ts";
import { UserError } from "../../../../cli/program/errors.ts";
import { changedBytes, changedJson, mustEndInSentence } from "../../../support/mutations.ts";
import { withMemoryFolder } from "../../../support/scratch_folder.ts";
import { prngOf } from "../../../support/small_prng.ts";
import { cases } from "../../../support/whole.ts";

const isSentence = (error: unknown) => error instanceof UserError && (error.next ?? "") !== "";

const requestOf = (folder: string, out: string, more: Partial<FolderRequest> = {}): FolderRequest => ({
  ...{ out, inputs: ["a", "b"].map((name) => ({ place: `${folder}/${name}.jsonl`, weight: 1 })), vocabSize: 384 },
  ...{ isVocabAsked: true, heldOutFraction: 0.1, maxBytes: 0, seed: 1, tokenizer: null, threads: 1 },
  ...{ sizes: { jobBytes: 8_000, shardTokens: 1 }, signal: new AbortController().signal },
  ...{ onRead: () => {}, onEncoded: () => {} },
  ...more,
});

/** A preparation that was stopped behind some shards; returns its files by name, and the hash of the whole dataset. */
async function interrupted(folder: string): Promise<{ files: Map<string, Uint8Array>; hash: string }> {
  for (const name of ["a", "b"]) {
    const lines = Array.from(
      { length: 60 },
      (_, i) => JSON.stringify({ text: `${name} ${i}: ${"word ".repeat(i)}${i * i}` }),
    );
    await Deno.writeTextFile(`${folder}/${name}.jsonl`, lines.join("\n"));
  }
  const whole = await prepareFolder(requestOf(folder, `${folder}/whole`));
  whole.close();
  const stop = new AbortController();
  let parts = 0;
  const onEncoded = () => ++parts === 2 && stop.abort(new Error("stopped"));
  const request = requestOf(folder, `${folder}/out`, { signal: stop.signal, onEncoded });
  await assertRejects(() => prepareFolder(request), Error, "stopped");
  const files = new Map<string, Uint8Array>();
  for (const place of [`${folder}/out`, `${folder}/out/.preparing`]) {
    for (const { name, isFile } of Deno.readDirSync(place)) {
      if (isFile) files.set(`${place}/${name}`, Deno.readFileSync(`${place}/${name}`));
    }
  }
  return { files, hash: whole.hash };
}

Deno.test("Hostile preparations: state, text, index and shards, changed, make the same dataset", async () => {
  await withMemoryFolder(async (folder) => {
    const { files, hash } = await interrupted(folder);
    const pick = prngOf(11);
    const [out, work] = [`${folder}/out`, `${folder}/out/.preparing`];
    assert(files.has(`${work}/state.json`) && files.has(`${out}/train-000.bin`), [...files.keys()].join());
    for (let i = 0; i < cases(600); i++) {
      await Deno.remove(out, { recursive: true });
      await Deno.mkdir(work, { recursive: true });
      for (const [path, content] of files) await Deno.writeFile(path, content);
      const path = [`${work}/state.json`, `${work}/text`, `${work}/index`, `${out}/train-000.bin`][pick(4)]!;
      const content = files.get(path)!;
      const isState = path.endsWith("state.json");
      if (isState && pick(2) === 0) {
        await Deno.writeTextFile(path, changedJson(new TextDecoder().decode(content), pick));
      } else await Deno.writeFile(path, changedBytes(content, pick));
      const dataset = await prepareFolder(requestOf(folder, out));
      dataset.close();
      assertEquals(dataset.hash, hash, `change ${i}, of ${path}`);
    }
  });
});

Deno.test("Hostile preparations: a state that a stranger wrote and signed with its hash ends in a dataset or a sentence", async () => {
  await withMemoryFolder(async (folder) => {
    const { files } = await interrupted(folder);
    const pick = prngOf(12);
    const [out, work] = [`${folder}/out`, `${folder}/out/.preparing`];
    const { state } = JSON.parse(new TextDecoder().decode(files.get(`${work}/state.json`)));
    for (let i = 0; i < cases(600); i++) {
      await Deno.remove(out, { recursive: true });
      await Deno.mkdir(work, { recursive: true });
      for (const [path, content] of files) await Deno.writeFile(path, content);
      const changed = changedJson(JSON.stringify(state), pick);
      await Deno.writeTextFile(`${work}/state.json`, `{"state":${changed},"check":"${sha256Hex(changed)}"}`);
      const prepare = async () => (await prepareFolder(requestOf(folder, out))).close();
      await mustEndInSentence(`change ${i}: ${changed}`, prepare, isSentence);
    }
  });
});
