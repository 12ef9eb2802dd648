/** Preparing a dataset in a folder of its own: threads, weights, interruptions, damage, and what a person reads. */

import { assert, assertEquals, assertRejects } from "@std/assert";
import { type Dataset, openDataset, placeOfFiles } from "../../../cli/model/data/dataset.ts";
import { type FolderRequest, prepareFolder } from "../../../cli/model/prepare/prepare_folder.ts";
import { planDataset } from "../../../cli/model/prepare/plan_dataset.ts";
import { TokenReader } from "../../../cli/model/data/token_file.ts";
import { openTokenizer } from "../../../cli/model/data/tokenizer_file.ts";
import { UserError } from "../../../cli/program/errors.ts";
import { withScratchFolder } from "../../support/scratch_folder.ts";

const wordOf = (i: number) => `word${"abcdefghij"[i % 10]}${i}`;
const textOf = (source: string, i: number) =>
  `${source} document ${i}. ${Array.from({ length: 60 }, (_, j) => wordOf(7 * i + j * j)).join(" ")}`;

async function writeLines(path: string, source: string, count: number): Promise<string> {
  const lines = Array.from({ length: count }, (_, i) => JSON.stringify({ text: textOf(source, i) }));
  await Deno.writeTextFile(path, `${lines.join("\n")}\n`);
  return path;
}

const smallShards = { jobBytes: 40_000, shardTokens: 1 };

const requestOf = (out: string, places: readonly string[], more: Partial<FolderRequest> = {}): FolderRequest => ({
  ...{ out, inputs: places.map((place) => ({ place, weight: 1 })), vocabSize: 384, heldOutFraction: 0.1, maxBytes: 0 },
  isVocabAsked: true,
  ...{ seed: 1, tokenizer: null, threads: 1, signal: new AbortController().signal },
  sizes: { jobBytes: 40_000, shardTokens: 2 ** 24 },
  onRead: () => {},
  onEncoded: () => {},
  ...more,
});

function textsIn({ folder, manifest, tokenizer }: Dataset, side: "train" | "heldOut"): string[] {
  const files = manifest[side].files.map(({ name, tokens }) => ({ path: `${folder}/${name}`, tokens }));
  const reader = new TokenReader({ files, tokenBytes: manifest.tokenBytes, vocabSize: tokenizer.vocabSize });
  const tokens = [...reader.read(0, reader.tokens)];
  reader.close();
  const texts: string[] = [];
  for (let from = 0; from < tokens.length;) {
    const end = tokens.indexOf(tokenizer.endOfText, from);
    texts.push(tokenizer.decode(tokens.slice(from, end)));
    from = end + 1;
  }
  return texts;
}

async function prepared(request: FolderRequest): Promise<Dataset> {
  const dataset = await prepareFolder(request);
  dataset.close();
  return dataset;
}

Deno.test("Data: every document is on one side, whole; the working files go", async () => {
  await withScratchFolder(async (folder) => {
    const input = await writeLines(`${folder}/a.jsonl`, "a", 300);
    const dataset = await prepared(requestOf(`${folder}/out`, [input]));
    const [train, heldOut] = [textsIn(dataset, "train"), textsIn(dataset, "heldOut")];
    assertEquals([...train, ...heldOut].sort(), Array.from({ length: 300 }, (_, i) => textOf("a", i)).sort());
    const { manifest } = dataset;
    assertEquals([manifest.train.documents, manifest.heldOut.documents], [train.length, heldOut.length]);
    const share = manifest.heldOut.textBytes / (manifest.heldOut.textBytes + manifest.train.textBytes);
    assert(share >= 0.1 && share < 0.12, `${share}`);
    const names = Array.from(Deno.readDirSync(`${folder}/out`), ({ name }) => name).sort();
    assertEquals(names, ["dataset.json", "heldout-000.bin", "tokenizer.json", "train-000.bin"]);
  });
});

Deno.test("Data: the result is the same with any number of threads and shards", async () => {
  await withScratchFolder(async (folder) => {
    const input = await writeLines(`${folder}/a.jsonl`, "a", 400);
    const one = await prepared(requestOf(`${folder}/one`, [input]));
    const two = await prepared(requestOf(`${folder}/two`, [input], { threads: 2 }));
    assertEquals(two.hash, one.hash);
    const shards = await prepared(requestOf(`${folder}/shards`, [input], { threads: 2, sizes: smallShards }));
    assert(shards.manifest.train.files.length > 1);
    assertEquals(textsIn(shards, "train"), textsIn(one, "train"));
    assertEquals(shards.manifest.train.textBytes, one.manifest.train.textBytes);
    assertEquals(shards.manifest.unigramEntropy, one.manifest.unigramEntropy);
  });
});

Deno.test("Data: an interrupted preparation goes on where it was, to the same dataset", async () => {
  await withScratchFolder(async (folder) => {
    const inputs = [
      await writeLines(`${folder}/a.jsonl`, "a", 200),
      await writeLines(`${folder}/b.jsonl`, "b", 400),
    ];
    const whole = await prepared(requestOf(`${folder}/whole`, inputs, { sizes: smallShards }));
    const out = `${folder}/out`;
    let read: number[] = [];
    const stopAt = async (phase: "onRead" | "onEncoded", count: number) => {
      const stop = new AbortController();
      let calls = 0;
      const request = requestOf(out, inputs, { sizes: smallShards, signal: stop.signal });
      read = [];
      await assertRejects(
        () =>
          prepareFolder({
            ...request,
            onRead: (done) => void read.push(done),
            [phase]() {
              if (++calls === count) stop.abort(new Error("stopped"));
            },
          }),
        Error,
        "stopped",
      );
      await assertRejects(() => openDataset(out), UserError, "no valid dataset.json");
    };
    const sizeOfFirst = Deno.statSync(inputs[0]!).size;
    await stopAt("onRead", 3); // in the second input
    await stopAt("onEncoded", 2);
    assert(read.length > 0 && read.every((bytes) => bytes >= sizeOfFirst), "the first input is not read again");
    const again = await prepared(
      requestOf(out, inputs, { sizes: smallShards, onRead: () => assert(false, "all is read") }),
    );
    assertEquals(again.hash, whole.hash);
    assertEquals(textsIn(again, "train"), textsIn(whole, "train"));
  });
});

Deno.test("Data: changed inputs, settings or working files begin anew", async () => {
  await withScratchFolder(async (folder) => {
    const input = await writeLines(`${folder}/a.jsonl`, "a", 300);
    const out = `${folder}/out`;
    const stopped = async (more: Partial<FolderRequest> = {}) => {
      const stop = new AbortController();
      const request = requestOf(out, [input], { signal: stop.signal, ...more });
      await assertRejects(
        () => prepareFolder({ ...request, onEncoded: () => stop.abort(new Error("stopped")) }),
        Error,
      );
    };
    await stopped();
    await stopped({ seed: 2 });
    await Deno.truncate(`${out}/.preparing/text`, 100);
    const dataset = await prepared(requestOf(out, [input], { seed: 2 }));
    const whole = await prepared(requestOf(`${folder}/whole`, [input], { seed: 2 }));
    assertEquals(dataset.hash, whole.hash);
    const error = await assertRejects(() => prepareFolder(requestOf(out, [input])), UserError, "already a dataset");
    assert(error instanceof UserError && error.next?.includes("--out"));
  });
});

Deno.test("Data: weights say how often an input's training documents are used; held-out ones count once", async () => {
  await withScratchFolder(async (folder) => {
    const [a, b] = [await writeLines(`${folder}/a.jsonl`, "a", 200), await writeLines(`${folder}/b.jsonl`, "b", 400)];
    const inputs = [{ place: a, weight: 2 }, { place: b, weight: 0.5 }];
    const dataset = await prepared(requestOf(`${folder}/out`, [], { inputs }));
    const heldOut = textsIn(dataset, "heldOut");
    assertEquals(new Set(heldOut).size, heldOut.length);
    const counts = new Map<string, number>();
    for (const text of textsIn(dataset, "train")) counts.set(text, (counts.get(text) ?? 0) + 1);
    const used = (source: string) => [...counts].filter(([text]) => text.startsWith(source)).map(([, count]) => count);
    assertEquals(new Set(used("a")), new Set([2]));
    assertEquals(new Set(used("b")), new Set([1]));
    const available = 400 - heldOut.filter((text) => text.startsWith("b")).length;
    assert(Math.abs(used("b").length / available - 0.5) < 0.1, `${used("b").length} of ${available}`);
    assertEquals(dataset.manifest.inputs?.map(({ weight, documents }) => [weight, documents]), [[2, 200], [0.5, 400]]);
  });
});

Deno.test("Data: of one long document a share is held out, and what remains keeps its order", async () => {
  await withScratchFolder(async (folder) => {
    const path = `${folder}/book.txt`;
    const text = Array.from({ length: 900 }, (_, i) => textOf("line", i)).join("\n");
    await Deno.writeTextFile(path, text);
    const dataset = await prepared(requestOf(`${folder}/out`, [path]));
    const { train, heldOut } = dataset.manifest;
    const share = heldOut.textBytes / (heldOut.textBytes + train.textBytes);
    assert(share >= 0.1 && share < 0.15, `${share}`);
    assertEquals(train.textBytes + heldOut.textBytes, new TextEncoder().encode(text).length);
    let at = 0;
    for (const part of textsIn(dataset, "train")) {
      at = text.indexOf(part, at);
      assert(at >= 0, "parts follow each other");
      at += part.length;
    }
  });
});

Deno.test("Data: a run takes a prepared dataset where it is, and keeps tokenizer and hash", async () => {
  await withScratchFolder(async (folder) => {
    const input = await writeLines(`${folder}/a.jsonl`, "a", 600);
    const dataset = await prepared(requestOf(`${folder}/data`, [input]));
    const options = {
      ...{
        folder: `${folder}/run/dataset`,
        corpus: `${folder}/data`,
        vocabSize: 384,
        heldOutFraction: 0.5,
        maxBytes: 5,
      },
      ...{ seed: 9, contextLength: 32 },
    };
    const run = await (await planDataset(options)).write();
    const batch = run.batches({ seed: 1, sequences: 2, contextLength: 32 }).heldOut(2);
    assertEquals(batch.inputs.length, 64);
    run.close();
    assertEquals([run.hash, run.folder], [dataset.hash, options.folder]);
    assertEquals(placeOfFiles(run.folder, run.manifest), `${folder}/data`);
    const kept = await (await planDataset({ ...options, isResumed: true })).write();
    kept.close();
    assertEquals(kept.hash, dataset.hash);
    await assertRejects(() => planDataset({ ...options, vocabSize: 320 }), UserError, "a vocabulary of 384 tokens");
    await Deno.truncate(`${folder}/data/train-000.bin`, 10);
    await assertRejects(() => openDataset(options.folder), UserError, "train-000.bin must have");
  });
});

Deno.test("Data: a vocabulary that nobody asked for suits a short text; license and origin are kept", async () => {
  await withScratchFolder(async (folder) => {
    const input = await writeLines(`${folder}/a.jsonl`, "a", 40);
    await assertRejects(
      () => prepareFolder(requestOf(`${folder}/out`, [input], { vocabSize: 8192 })),
      UserError,
      "varied enough for only",
    );
    const more = { vocabSize: 8192, isVocabAsked: false, license: "CC0-1.0", origin: "a test" };
    const { manifest, tokenizer } = await prepared(requestOf(`${folder}/out`, [input], more));
    assert(tokenizer.vocabSize % 64 === 0 && tokenizer.vocabSize < 8192, `${tokenizer.vocabSize}`);
    assertEquals(manifest.request.vocabSize, tokenizer.vocabSize);
    assertEquals([manifest.license, manifest.origin], ["CC0-1.0", "a test"]);
  });
});

Deno.test("Data: an end token that a text mentions is text, and a given tokenizer is kept byte by byte", async () => {
  await withScratchFolder(async (folder) => {
    const path = `${folder}/a.jsonl`;
    const texts = Array.from({ length: 120 }, (_, i) => `${textOf("a", i)} ends with <|endoftext|>, or not`);
    await Deno.writeTextFile(path, texts.map((text) => JSON.stringify({ text })).join("\n"));
    const first = await prepared(requestOf(`${folder}/first`, [path]));
    assertEquals([...textsIn(first, "train"), ...textsIn(first, "heldOut")].sort(), texts.toSorted());
    const open = await openTokenizer(`${folder}/first/tokenizer.json`, { sha256: first.manifest.tokenizer.sha256 });
    const again = await prepared(requestOf(`${folder}/again`, [path], { tokenizer: open, threads: 2 }));
    assertEquals(again.manifest.tokenizer, first.manifest.tokenizer);
    assertEquals(again.hash, first.hash);
  });
});
