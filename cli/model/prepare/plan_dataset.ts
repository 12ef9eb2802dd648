/**
 * The dataset of a run, in a folder of the run: from a text, or from a dataset that is prepared already. Planning only
 * reads.
 */

import { resolve } from "node:path";
import { assert } from "../../../core/assert.ts";
import type { Tokenizer } from "../../../core/tokenizer/tokenizer.ts";
import { type Disk, realDisk } from "../../files/disk.ts";
import { firstProblem, sha256Hex, writeEntry } from "../../files/file_entry.ts";
import { UserError } from "../../program/errors.ts";
import { collectSmall, isPrepared } from "./collect_small.ts";
import { encodeJob, jobBytesDefault, jobsOf } from "./encode_job.ts";
import { piecesHash } from "./piece_index.ts";
import { trainTokenizer } from "./train_tokenizer.ts";
import { type CollectedText, writeDataset, writeManifest } from "./write_dataset.ts";
import { type Dataset, openDataset, placeOfFiles } from "../data/dataset.ts";
import {
  type DatasetManifest,
  type DatasetRequest,
  filesOf,
  isSameRequest,
  readDatasetManifest,
  rowsFor,
  tokenizerName,
} from "../data/dataset_manifest.ts";
import type { OpenTokenizer } from "../data/tokenizer_file.ts";
import { mustHoldSequences } from "../data/text_length.ts";
import { tokenBytesFor } from "../data/token_file.ts";

export interface PrepareOptions {
  readonly folder: string;
  /** `sotu`, a file or folder with text, or a prepared dataset. */
  readonly corpus: string;
  readonly vocabSize: number; // of the model
  readonly heldOutFraction: number; // of the text's bytes, in (0, 1)
  readonly maxBytes: number; // 0 = all
  readonly seed: number;
  /** Keeps its original text: the corpus is not read while the folder is complete. */
  readonly isResumed?: boolean;
  /** Both splits must hold a sequence. Absent: any length will do. */
  readonly contextLength?: number;
  /** Of the model that is trained on. Absent: one is trained on the text. */
  readonly tokenizer?: OpenTokenizer;
  readonly disk?: Disk;
}

export interface DatasetPlan {
  readonly tokenizerHash: string;
  /** `onEncoded`: how many bytes of the text are tokens by now. */
  write(onEncoded?: (done: number, total: number) => void): Promise<Dataset>;
}

export async function planDataset(options: PrepareOptions): Promise<DatasetPlan> {
  const { folder, corpus, heldOutFraction, disk = realDisk } = options;
  assert(
    heldOutFraction > 0 && heldOutFraction < 1,
    `heldOutFraction must be between 0 and 1, but is ${heldOutFraction}`,
  );
  if (options.isResumed) {
    const kept = await keptManifest(options);
    if (kept !== null) return planToOpen(kept, options);
  }
  if (await isPrepared(corpus)) return await planToAdopt(options);
  const collected = await collectSmall(corpus, options);
  const request = requestOf(options, piecesHash(collected.index));
  const prepared = await readDatasetManifest(folder);
  if (prepared !== null && isSameRequest(prepared.request, request) && await isWhole(folder, prepared)) {
    return planToOpen(prepared, options);
  }
  const setting = (size: number) => `--set model.vocabSize=${size}`;
  const { vocabSize } = options;
  const open = options.tokenizer ?? trainTokenizer(collected, collected.rule, { vocabSize, setting });
  mustHoldSequences(options, {
    training: tokensOf(collected, open.tokenizer, "train"),
    "held-out": tokensOf(collected, open.tokenizer, "heldOut"),
  });
  return {
    tokenizerHash: sha256Hex(open.tokenizerFile),
    write: (onEncoded = () => {}) =>
      writeDataset(collected, {
        ...{ folder, corpus, request, tokenizer: open, disk, threads: 1 },
        onEncoded: (done) => onEncoded(done, collected.text.bytes),
      }),
  };
}

function mustBeOfModel({ corpus, tokenizer }: PrepareOptions, manifest: DatasetManifest): void {
  if (tokenizer === undefined || sha256Hex(tokenizer.tokenizerFile) === manifest.tokenizer.sha256) return;
  throw new UserError(`The dataset '${corpus}' was prepared with another tokenizer than the model's`, {
    next: "Prepare it with the model's: iota data prepare --tokenizer MODEL/tokenizer.json …",
  });
}

function planToOpen({ train, heldOut, tokenizer }: DatasetManifest, options: PrepareOptions): DatasetPlan {
  mustHoldSequences(options, { training: [train.tokens], "held-out": [heldOut.tokens] });
  return { tokenizerHash: tokenizer.sha256, write: () => openDataset(options.folder) };
}

/** The shards stay where they are; the run keeps the tokenizer and the manifest. */
async function planToAdopt(options: PrepareOptions): Promise<DatasetPlan> {
  const { folder, corpus, vocabSize, disk = realDisk } = options;
  const dataset = await openDataset(resolve(corpus));
  dataset.close();
  const { manifest, tokenizer } = dataset;
  mustBeOfModel(options, manifest);
  const place = placeOfFiles(dataset.folder, manifest);
  if (tokenizer.vocabSize > vocabSize) {
    throw new UserError(
      `The dataset '${corpus}' has a vocabulary of ${tokenizer.vocabSize} tokens, and model.vocabSize is ${vocabSize}`,
      { next: `Use that of the dataset: --set model.vocabSize=${rowsFor(tokenizer.vocabSize)}` },
    );
  }
  mustHoldSequences(options, { training: [manifest.train.tokens], "held-out": [manifest.heldOut.tokens] });
  return {
    tokenizerHash: manifest.tokenizer.sha256,
    async write() {
      await disk.createFolder(folder);
      const chunks = [await Deno.readFile(`${place}/${tokenizerName}`)];
      await writeEntry({ folder, name: tokenizerName }, { disk, chunks });
      await writeManifest(folder, { ...manifest, corpus, folder: place }, disk);
      return await openDataset(folder);
    },
  };
}

function requestOf(
  { vocabSize, heldOutFraction, maxBytes, seed, tokenizer }: PrepareOptions,
  corpusHash: string,
): DatasetRequest {
  const given = tokenizer === undefined ? {} : { tokenizerHash: sha256Hex(tokenizer.tokenizerFile) };
  return { corpusHash, vocabSize, heldOutFraction, maxBytes, seed, ...given };
}

/** Of a folder made with the same settings, even if the corpus has changed since; null: none. */
async function keptManifest(options: PrepareOptions): Promise<DatasetManifest | null> {
  const { folder, corpus } = options;
  const manifest = await readDatasetManifest(folder);
  if (manifest === null || manifest.corpus !== corpus) return null;
  const { corpusHash } = manifest.request;
  const isSame = manifest.folder !== undefined || isSameRequest(manifest.request, requestOf(options, corpusHash));
  return isSame && await isWhole(folder, manifest) ? manifest : null;
}

const isWhole = async (folder: string, manifest: DatasetManifest): Promise<boolean> =>
  await firstProblem(placeOfFiles(folder, manifest), filesOf(manifest)) === null;

/** As counts by job. */
function* tokensOf(collected: CollectedText, tokenizer: Tokenizer, side: "train" | "heldOut"): Generator<number> {
  const tokenBytes = tokenBytesFor(tokenizer.vocabSize);
  for (const job of jobsOf(collected, collected.rule, { weightOf: () => 1, jobBytes: jobBytesDefault })) {
    yield encodeJob(job, { tokenizer, tokenBytes })[side].length / tokenBytes;
  }
}
