/** Writes a dataset folder from collected text: tokenizer, shards of both sides, and the manifest last. */

import { unigramEntropy } from "../../../core/data/unigram.ts";
import { type Disk, writeAtomically } from "../../files/disk.ts";
import { writeEntry } from "../../files/file_entry.ts";
import { Dataset } from "../data/dataset.ts";
import {
  datasetFormat,
  datasetHashOf,
  type DatasetInput,
  type DatasetManifest,
  type DatasetRequest,
  type DatasetSource,
  type DatasetSplit,
  filesOf,
  manifestName,
  tokenizerName,
} from "../data/dataset_manifest.ts";
import { tokenBytesFor, TokenReader } from "../data/token_file.ts";
import type { OpenTokenizer } from "../data/tokenizer_file.ts";
import { type EncodedJob, type EncodeJob, jobBytesDefault, jobsOf } from "./encode_job.ts";
import { encodeInOrder } from "./encode_pool.ts";
import { piecesHash } from "./piece_index.ts";
import type { SplitRule } from "./split.ts";
import type { Spool } from "./spool.ts";

export interface CollectedText {
  readonly text: Spool;
  readonly index: Spool;
  readonly rule: SplitRule;
  readonly source: DatasetSource;
  readonly inputs: readonly DatasetInput[];
}

/** What is written so far; jobs are done in order. */
export interface Written {
  readonly jobs: number;
  readonly train: DatasetSplit;
  readonly heldOut: DatasetSplit;
}

/** Tests make them small. */
export interface DatasetSizes {
  readonly jobBytes: number; // of text
  readonly shardTokens: number; // of training text
}

export interface WriteOptions {
  readonly folder: string;
  readonly corpus: string;
  readonly request: Omit<DatasetRequest, "corpusHash">;
  readonly terms?: { readonly license?: string | undefined; readonly origin?: string | undefined };
  readonly tokenizer: OpenTokenizer;
  readonly threads: number;
  readonly sizes?: DatasetSizes | undefined;
  readonly disk: Disk;
  /** Of an earlier attempt at the same dataset. */
  readonly written?: Written;
  readonly onWritten?: (written: Written) => Promise<void>;
  /** How many bytes of the text are tokens by now. */
  readonly onEncoded?: (done: number) => void;
}

const shardTokensDefault = 2 ** 24; // a shard ends with the job that fills it
const noSplit: DatasetSplit = { documents: 0, textBytes: 0, tokens: 0, files: [] };
export const nothingWritten: Written = { jobs: 0, train: noSplit, heldOut: noSplit };
const encoder = new TextEncoder();

export async function writeDataset(collected: CollectedText, options: WriteOptions): Promise<Dataset> {
  const { folder, corpus, request, disk, tokenizer: { tokenizer, tokenizerFile } } = options;
  const tokenBytes = tokenBytesFor(tokenizer.vocabSize);
  await disk.createFolder(folder);
  await disk.remove(`${folder}/${manifestName}`); // its files change
  const tokenizerEntry = await writeEntry(
    { folder, name: tokenizerName },
    { disk, chunks: [tokenizerFile] },
  );
  const { train, heldOut } = await writeShards(collected, options);
  const files = { tokenizer: tokenizerEntry, train, heldOut };
  const manifest: DatasetManifest = {
    format: datasetFormat,
    hash: datasetHashOf(filesOf(files)),
    corpus,
    request: { ...request, corpusHash: piecesHash(collected.index) },
    tokenBytes,
    source: collected.source,
    inputs: [...collected.inputs],
    ...termsOf(options.terms),
    ...files,
    endOfText: tokenizer.endOfText,
    bytesPerToken: train.textBytes / train.tokens,
    unigramEntropy: entropyOf({ folder, heldOut, tokenBytes, vocabSize: tokenizer.vocabSize }),
  };
  await writeManifest(folder, manifest, disk);
  return new Dataset({ folder, manifest, tokenizer });
}

const termsOf = ({ license, origin }: NonNullable<WriteOptions["terms"]> = {}) => ({
  ...(license === undefined ? {} : { license }),
  ...(origin === undefined ? {} : { origin }),
});

export async function writeManifest(folder: string, manifest: DatasetManifest, disk: Disk): Promise<void> {
  const text = encoder.encode(`${JSON.stringify(manifest, null, 2)}\n`);
  await writeAtomically(`${folder}/${manifestName}`, { disk, chunks: [text] });
}

async function writeShards(collected: CollectedText, options: WriteOptions): Promise<Written> {
  const { tokenizer: open, threads, onEncoded = () => {}, onWritten = () => Promise.resolve() } = options;
  const shardTokens = options.sizes?.shardTokens ?? shardTokensDefault;
  const tokenBytes = tokenBytesFor(open.tokenizer.vocabSize);
  let { jobs: done, ...sides } = options.written ?? nothingWritten;
  const shards = { train: new Shard("train", sides.train), heldOut: new Shard("heldout", sides.heldOut) };
  const waiting: EncodeJob["parts"][] = [];
  const weightOf = (source: number) => collected.inputs[source]?.weight ?? 1;
  const jobs = remaining(
    jobsOf(collected, collected.rule, { weightOf, jobBytes: options.sizes?.jobBytes ?? jobBytesDefault }),
    done,
    waiting,
  );
  for await (const encoded of encodeInOrder(jobs, { ...open, tokenBytes }, threads)) {
    const parts = waiting.shift()!;
    shards.train.add(encoded.train, parts.filter(({ isHeldOut }) => !isHeldOut));
    shards.heldOut.add(encoded.heldOut, parts.filter(({ isHeldOut }) => isHeldOut));
    done++;
    onEncoded(shards.train.split.textBytes + shards.heldOut.split.textBytes);
    if (shards.train.pendingBytes < shardTokens * tokenBytes) continue;
    for (const shard of [shards.train, shards.heldOut]) await shard.close({ ...options, tokenBytes });
    await onWritten({ jobs: done, train: shards.train.split, heldOut: shards.heldOut.split });
  }
  for (const shard of [shards.train, shards.heldOut]) await shard.close({ ...options, tokenBytes });
  sides = { train: shards.train.split, heldOut: shards.heldOut.split };
  return { jobs: done, ...sides };
}

/** `taken` gets the parts of each job, whose text goes to another thread. */
function* remaining(jobs: Iterable<EncodeJob>, done: number, taken: EncodeJob["parts"][]): Generator<EncodeJob> {
  let number = 0;
  for (const job of jobs) {
    if (number++ < done) continue;
    taken.push(job.parts);
    yield job;
  }
}

/** The file that one side is being written to, and those before it. */
class Shard {
  readonly #name: string;
  #split: DatasetSplit;
  #chunks: EncodedJob["train"][] = [];
  pendingBytes = 0;

  constructor(name: string, split: DatasetSplit) {
    this.#name = name;
    this.#split = split;
  }

  get split(): DatasetSplit {
    return this.#split;
  }

  add(tokens: EncodedJob["train"], parts: EncodeJob["parts"]): void {
    this.#chunks.push(tokens);
    this.pendingBytes += tokens.length;
    this.#split = {
      ...this.#split,
      documents: this.#split.documents + parts.filter(({ endsDocument }) => endsDocument).length,
      textBytes: this.#split.textBytes + parts.reduce((sum, { bytes }) => sum + bytes, 0),
    };
  }

  async close({ folder, disk, tokenBytes }: { folder: string; disk: Disk; tokenBytes: number }): Promise<void> {
    if (this.pendingBytes === 0) return;
    const name = `${this.#name}-${String(this.#split.files.length).padStart(3, "0")}.bin`;
    const entry = await writeEntry({ folder, name }, { disk, chunks: this.#chunks });
    const tokens = this.pendingBytes / tokenBytes;
    this.#split = {
      ...this.#split,
      tokens: this.#split.tokens + tokens,
      files: [...this.#split.files, { ...entry, tokens }],
    };
    this.#chunks = [];
    this.pendingBytes = 0;
  }
}

const readTokens = 2 ** 20;

function entropyOf(
  { folder, heldOut, tokenBytes, vocabSize }: {
    folder: string;
    heldOut: DatasetSplit;
    tokenBytes: 2 | 4;
    vocabSize: number;
  },
): number {
  const reader = new TokenReader({
    files: heldOut.files.map(({ name, tokens }) => ({ path: `${folder}/${name}`, tokens })),
    tokenBytes,
    vocabSize,
  });
  function* tokens() {
    for (let at = 0; at < reader.tokens; at += readTokens) {
      yield* reader.read(at, Math.min(readTokens, reader.tokens - at));
    }
  }
  try {
    return unigramEntropy(tokens());
  } finally {
    reader.close();
  }
}
