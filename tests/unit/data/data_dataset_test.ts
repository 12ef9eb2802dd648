/** Preparing and reading a dataset folder: the split, the files, idempotence, and a disk that fails. */

import { assert, assertEquals, assertNotEquals, assertRejects, assertStringIncludes, assertThrows } from "@std/assert";
import { openDataset } from "../../../cli/model/data/dataset.ts";
import type { Dataset } from "../../../cli/model/data/dataset.ts";
import { planDataset, type PrepareOptions } from "../../../cli/model/prepare/plan_dataset.ts";
import { sha256Hex } from "../../../cli/files/file_entry.ts";
import { TokenReader, tokensAsBytes } from "../../../cli/model/data/token_file.ts";
import { UserError } from "../../../cli/program/errors.ts";
import { unigramEntropy } from "../../../core/data/unigram.ts";
import { microbatchId } from "../../../core/ids.ts";
import { failingDisk, Killed } from "../../support/failing_disk.ts";
import { withMemoryFolder } from "../../support/scratch_folder.ts";
import { isWhole } from "../../support/whole.ts";

const documentCount = 40;

/** Documents that can be told apart: document i says "speaker i" again and again. */
function writeText(folder: string): string {
  const sentence = (i: number, j: number) => `speaker ${i} said in year ${1800 + i} that item ${j * j} is due.`;
  const documents = Array.from(
    { length: documentCount },
    (_, i) => Array.from({ length: 40 }, (_, j) => sentence(i, j)).join(" "),
  );
  const path = `${folder}/text.txt`;
  Deno.writeTextFileSync(path, documents.join("\n<|endoftext|>\n"));
  return path;
}

const prepare = async (options: PrepareOptions): Promise<Dataset> => await (await planDataset(options)).write();

async function withPrepared(
  body: (dataset: Dataset, options: PrepareOptions) => Promise<void> | void,
  overrides: Partial<PrepareOptions> = {},
): Promise<void> {
  await withMemoryFolder(async (folder) => {
    const options: PrepareOptions = {
      folder: `${folder}/data`,
      corpus: writeText(folder),
      vocabSize: 320,
      heldOutFraction: 0.2,
      maxBytes: 0,
      seed: 3,
      ...overrides,
    };
    const dataset = await prepare(options);
    try {
      await body(dataset, options);
    } finally {
      dataset.close();
    }
  });
}

async function prepareAgain(options: PrepareOptions): Promise<string> {
  const dataset = await prepare(options);
  dataset.close();
  return dataset.hash;
}

function speakersIn(dataset: Dataset, split: "train" | "heldOut"): Set<string> {
  const { files, tokens } = dataset.manifest[split];
  const reader = new TokenReader({
    files: files.map((file) => ({ path: `${dataset.folder}/${file.name}`, tokens: file.tokens })),
    tokenBytes: dataset.manifest.tokenBytes,
    vocabSize: dataset.tokenizer.vocabSize,
  });
  const text = dataset.tokenizer.decode(reader.read(0, tokens));
  reader.close();
  return new Set(text.match(/speaker \d+/g));
}

Deno.test("Dataset: every document is on one side, about the asked share held out", async () => {
  await withPrepared((dataset) => {
    const [train, heldOut] = [speakersIn(dataset, "train"), speakersIn(dataset, "heldOut")];
    assertEquals(train.size + heldOut.size, documentCount);
    assertEquals([...train].filter((speaker) => heldOut.has(speaker)), []);
    const { manifest } = dataset;
    const share = manifest.heldOut.textBytes / (manifest.heldOut.textBytes + manifest.train.textBytes);
    assert(share >= 0.2 && share < 0.25, `${share}`);
    assertEquals([manifest.train.documents, manifest.heldOut.documents], [train.size, heldOut.size]);
  });
});

Deno.test("Dataset: counts and entropy are those of the files, the hash is that of sha256sum", async () => {
  await withPrepared((dataset) => {
    const { manifest, folder } = dataset;
    const heldOut = Deno.readFileSync(`${folder}/heldout-000.bin`);
    const tokens = new Uint16Array(heldOut.buffer);
    assertEquals(tokens.length, manifest.heldOut.tokens);
    assertEquals(tokens.at(-1), dataset.tokenizer.endOfText);
    assertEquals(unigramEntropy(tokens), manifest.unigramEntropy);
    assertEquals(manifest.bytesPerToken, manifest.train.textBytes / manifest.train.tokens);
    const lines = ["tokenizer.json", "heldout-000.bin", "train-000.bin"]
      .map((name) => `${sha256Hex(Deno.readFileSync(`${folder}/${name}`))}  ${name}\n`);
    assertEquals(dataset.hash, sha256Hex(lines.join("")));
  });
});

Deno.test("Dataset: a folder that holds the dataset is used as it is", async () => {
  await withPrepared(async (dataset, options) => {
    const written = () => Deno.statSync(`${options.folder}/dataset.json`).ino;
    const before = written();
    assertEquals(await prepareAgain({ ...options, disk: failingDisk(0) }), dataset.hash);
    assertEquals(written(), before);
  });
});

Deno.test("Dataset: damage, another request or a changed text make it prepare again", async () => {
  await withPrepared(async (dataset, options) => {
    const shard = `${options.folder}/train-000.bin`;
    const bytes = Deno.readFileSync(shard);
    Deno.writeFileSync(shard, bytes.map((byte, i) => i === 100 ? byte ^ 1 : byte));
    await assertRejects(() => openDataset(options.folder), UserError, "train-000.bin must have the hash");
    assertEquals(await prepareAgain(options), dataset.hash);
    assertEquals(Deno.readFileSync(shard), bytes);
    assertNotEquals(await prepareAgain({ ...options, seed: 4 }), dataset.hash);
    assertEquals(await prepareAgain(options), dataset.hash);
    Deno.writeTextFileSync(options.corpus, "\n<|endoftext|>\none more speech", { append: true });
    assertNotEquals(await prepareAgain(options), dataset.hash);
  });
});

Deno.test("Dataset: what is used, held out, repeated and left is counted", async () => {
  await withMemoryFolder(async (folder) => {
    const corpus = writeText(folder);
    const text = Deno.readTextFileSync(corpus);
    const textBytes = new TextEncoder().encode(text.replaceAll("\n<|endoftext|>\n", "")).length;
    const [first = ""] = text.split("\n<|endoftext|>\n");
    Deno.writeTextFileSync(corpus, `\n<|endoftext|>\n${first}\n<|endoftext|>\n${first}`, { append: true });
    const duplicateBytes = 2 * first.length;
    await withPrepared(({ manifest: { source, train, heldOut } }) => {
      const documents = documentCount + 2;
      assertEquals(source, { documents, textBytes: textBytes + duplicateBytes, duplicates: 2, duplicateBytes });
      assertEquals(train.textBytes + heldOut.textBytes, textBytes);
    }, { corpus });
  });
});

Deno.test("Dataset: of two long documents in a file the asked share is held out, not one of them", async () => {
  await withMemoryFolder(async (folder) => {
    const corpus = writeText(folder);
    const [first, ...others] = Deno.readTextFileSync(corpus).split("\n<|endoftext|>\n");
    Deno.writeTextFileSync(corpus, `${first}\n<|endoftext|>\n${others.join("\n\n")}`);
    await withPrepared(({ manifest: { train, heldOut } }) => {
      const share = heldOut.textBytes / (heldOut.textBytes + train.textBytes);
      assert(share >= 0.2 && share < 0.3, `${share}`);
    }, { corpus });
  });
});

Deno.test("Dataset: maxBytes bounds the text that is used", async () => {
  const maxBytes = 20_000;
  await withPrepared(({ manifest }) => {
    const used = manifest.train.textBytes + manifest.heldOut.textBytes;
    assert(used <= maxBytes && used > 0.8 * maxBytes, `${used} bytes`);
  }, { maxBytes });
});

Deno.test("Dataset: a kill before any operation leaves nothing that opens as another dataset", async () => {
  await withPrepared(async (dataset, options) => {
    const counting = failingDisk(Infinity);
    await prepareAgain({ ...options, seed: 4, disk: counting });
    assert(counting.operations > 10);
    const otherHash = await prepareAgain({ ...options, seed: 4 });
    for (let survives = 0; survives < counting.operations; survives += isWhole ? 1 : 3) {
      await prepareAgain(options); // whole, of seed 3
      const disk = failingDisk(survives);
      await assertRejects(() => prepare({ ...options, seed: 4, disk }), Killed);
      const found = await openDataset(options.folder).then((opened) => {
        opened.close();
        return opened.hash;
      }, (error) => {
        assert(error instanceof UserError, String(error));
        return null;
      });
      assert(found === null || found === dataset.hash || found === otherHash, `after ${survives} operations`);
    }
    assertEquals(await prepareAgain(options), dataset.hash);
  });
});

Deno.test("Dataset: texts that cannot be split or tokenised are refused with the next step", async () => {
  const refused = async (overrides: Partial<PrepareOptions>, includes: string) => {
    const error = await assertRejects(() => withPrepared(() => {}, overrides), UserError, includes);
    assert(error instanceof UserError && error.next !== undefined);
  };
  await refused({ vocabSize: 256 }, "A tokenizer has at least 320 tokens");
  await refused({ vocabSize: 65_536 }, "varied enough for only");
  await withMemoryFolder(async (folder) => {
    Deno.writeTextFileSync(`${folder}/one.txt`, "a single short document");
    await refused({ corpus: `${folder}/one.txt` }, "it has 1 different document in");
    await refused({ folder: `${folder}/one.txt/data` }, "one.txt/data");
  });
});

Deno.test("planDataset: a text shorter than one sequence is refused with its length before anything is written", async () => {
  await withMemoryFolder(async (folder) => {
    const options = {
      ...{ folder: `${folder}/data`, corpus: writeText(folder), vocabSize: 320, heldOutFraction: 0.2, maxBytes: 0 },
      seed: 3,
    };
    const whole = await prepare({ ...options, folder: `${folder}/whole` });
    const { train, heldOut } = whole.manifest;
    whole.close();
    const refusal = async (contextLength: number, more: Partial<PrepareOptions> = {}) =>
      await assertRejects(() => planDataset({ ...options, contextLength, ...more }), UserError);
    const long = await refusal(train.tokens * 8);
    assertStringIncludes(long.message, `the held-out text needs at least ${train.tokens * 8 + 1} tokens`);
    assertStringIncludes(long.message, `has ${heldOut.tokens}`);
    const kept = await refusal(train.tokens * 8, { folder: `${folder}/whole`, isResumed: true });
    assertEquals(kept.message, long.message);
    assertStringIncludes(kept.next ?? "", "--fresh");

    const fitting = Number(/model\.contextLength=(\d+)$/.exec(long.next ?? "")?.[1]);
    await planDataset({ ...options, contextLength: fitting }); // the advice is right
    assertEquals((await refusal(fitting + 8)).message.endsWith(`has ${heldOut.tokens}`), true);
    await assertRejects(() => Deno.stat(options.folder), Deno.errors.NotFound);
  });
});

Deno.test("openDataset: a folder without a valid manifest is refused", async () => {
  await withPrepared(async (_, { folder }) => {
    await assertRejects(() => openDataset(`${folder}/none`), UserError, "no valid dataset.json");
    Deno.writeTextFileSync(`${folder}/dataset.json`, "{}");
    await assertRejects(() => openDataset(folder), UserError, "no valid dataset.json");
  });
});

Deno.test("Dataset: targets are the inputs shifted by one, and held-out windows come from held-out text", async () => {
  await withPrepared((dataset) => {
    const source = dataset.batches({ seed: 1, sequences: 3, contextLength: 32 });
    const heldOutSpeakers = speakersIn(dataset, "heldOut");
    for (const batch of [source.tokensOf(microbatchId(5)), source.heldOut(6)]) {
      const sequences = batch.inputs.length / 32;
      for (let i = 0; i < sequences; i++) {
        assertEquals(batch.inputs.slice(i * 32 + 1, i * 32 + 32), batch.targets.slice(i * 32, i * 32 + 31));
      }
    }
    const seen = dataset.tokenizer.decode(source.heldOut(source.heldOutWindows).inputs).match(/speaker \d+ /g) ?? [];
    assert(seen.length > 10 && seen.every((speaker) => heldOutSpeakers.has(speaker.trim())));
    assertThrows(() => source.heldOut(source.heldOutWindows + 1), UserError, "the held-out text needs at least");
    assertThrows(() => dataset.batches({ seed: 1, sequences: 1, contextLength: 2 ** 20 }), UserError, "training text");
  });
});

Deno.test("TokenReader: a stream over several files reads like one, in u16 and in u32", async () => {
  await withMemoryFolder(async (folder) => {
    for (const [tokenBytes, scale] of [[2, 257], [4, 70_001]] as const) {
      const all = Uint32Array.from({ length: 30 }, (_, i) => i * scale);
      const cuts = [[0, 10], [10, 11], [11, 30]] as const;
      const files = cuts.map(([from, to]) => ({ path: `${folder}/${tokenBytes}-${from}.bin`, tokens: to - from }));
      for (const [i, [from, to]] of cuts.entries()) {
        await Deno.writeFile(files[i]!.path, tokensAsBytes(all.subarray(from, to), tokenBytes));
      }
      const reader = new TokenReader({ files, tokenBytes, vocabSize: 2 ** 32 });
      for (let from = 0; from < 30; from++) {
        for (let to = from; to <= 30; to++) assertEquals(reader.read(from, to - from), all.slice(from, to));
      }
      assertThrows(() => reader.read(29, 2), Error, "must be within the stream of 30");
      reader.close();
    }
  });
});
