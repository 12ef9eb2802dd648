/**
 * Turns a corpus into a dataset folder: tokenizer, token shards, held-out tokens, manifest.
 *
 * Documents are ordered by a keyed hash of their text, and the first ones, up to `heldOutFraction` of the bytes, are
 * held out. No miner sees held-out text: equal documents count once, and the tokenizer is trained only on training
 * documents. In a file, a document longer than what is held out is cut. Planning only reads.
 */

import { assert } from "../../../core/assert.ts";
import { unigramEntropy } from "../../../core/data/unigram.ts";
import { Tokenizer } from "../../../core/tokenizer/bpe.ts";
import { byteTokens, vocabSizeOf } from "../../../core/tokenizer/bpe_model.ts";
import { trainBpe } from "../../../core/tokenizer/bpe_train.ts";
import { countWords } from "../../../core/tokenizer/words.ts";
import { type Corpus, type CorpusDocument, cutLong, readCorpus } from "./corpus.ts";
import { Dataset, openDataset } from "./dataset.ts";
import { mustHoldSequences } from "./text_length.ts";
import {
  datasetFormat,
  datasetHashOf,
  type DatasetManifest,
  type DatasetRequest,
  type DatasetSource,
  type DatasetSplit,
  filesOf,
  isSameRequest,
  manifestName,
  readDatasetManifest,
} from "./dataset_manifest.ts";
import { UserError } from "../../program/errors.ts";
import { plural } from "../../terminal/text/format.ts";
import { type Disk, realDisk, writeAtomically } from "../../files/disk.ts";
import { type FileEntry, firstProblem, sha256Hex, writeEntry } from "../../files/file_entry.ts";
import { type TokenBytes, tokenBytesFor, tokensAsBytes } from "./token_file.ts";
import { formatTokenizer } from "./tokenizer_file.ts";

export interface PrepareOptions {
  readonly folder: string;
  readonly corpus: string;
  readonly vocabSize: number; // a multiple of 4
  readonly heldOutFraction: number; // of the text's bytes, in (0, 1)
  readonly maxBytes: number; // 0 = all
  readonly seed: number;
  /** Keeps its original text: the corpus is not read while the folder is complete. */
  readonly isResumed?: boolean;
  /** Both splits must hold a sequence. Absent: any length will do. */
  readonly contextLength?: number;
  /** Of the model that is trained on. Absent: one is trained on the text. */
  readonly tokenizer?: Tokenizer;
  readonly disk?: Disk;
}

export interface DatasetPlan {
  readonly tokenizerHash: string;
  readonly doubt: string | null;
  /** `onEncoded`: how many characters of the training text are tokens by now. */
  write(onEncoded?: (done: number, total: number) => void): Promise<Dataset>;
}

interface Encoded {
  readonly request: DatasetRequest;
  readonly split: Split;
  readonly tokenizer: Tokenizer;
  readonly heldOutTokens: readonly number[][];
}

const trainShardTokens = 2 ** 24;
const encoder = new TextEncoder();

export async function planDataset(options: PrepareOptions): Promise<DatasetPlan> {
  const { folder, vocabSize, heldOutFraction } = options;
  assert(
    heldOutFraction > 0 && heldOutFraction < 1,
    `heldOutFraction must be between 0 and 1, but is ${heldOutFraction}`,
  );
  if (options.isResumed) {
    const kept = await keptManifest(options);
    if (kept !== null) return planToOpen(kept, options);
  }
  const corpus = await readCorpus(options.corpus);
  const request = requestOf(options, hashCorpus(corpus));
  const prepared = await preparedManifest(folder, request);
  if (prepared !== null) return { ...planToOpen(prepared, options), doubt: corpus.doubt };

  const split = splitDocuments(corpus, options);
  const tokenizer = options.tokenizer ?? trainTokenizer(split.train, vocabSize);
  const heldOutTokens = [...encodeDocuments(split.heldOut, tokenizer)];
  mustHoldSequences(options, {
    training: encodeDocuments(split.train, tokenizer),
    "held-out": heldOutTokens,
  });
  return {
    tokenizerHash: sha256Hex(formatTokenizer(tokenizer)),
    doubt: corpus.doubt,
    write: (onEncoded) => writeDataset({ ...options, onEncoded }, { request, split, tokenizer, heldOutTokens }),
  };
}

function planToOpen({ train, heldOut, tokenizer }: DatasetManifest, options: PrepareOptions): DatasetPlan {
  mustHoldSequences(options, { training: [train.tokens], "held-out": [heldOut.tokens] });
  return { tokenizerHash: tokenizer.sha256, doubt: null, write: () => openDataset(options.folder) };
}

async function writeDataset(
  { folder, corpus, vocabSize, disk = realDisk, onEncoded = () => {} }: PrepareOptions & {
    onEncoded?: ((done: number, total: number) => void) | undefined;
  },
  { request, split, tokenizer, heldOutTokens }: Encoded,
): Promise<Dataset> {
  const tokenizerText = encoder.encode(formatTokenizer(tokenizer));
  const tokenBytes = tokenBytesFor(vocabSize);
  await disk.createFolder(folder);
  const place = { folder, disk, tokenBytes };
  const files = {
    tokenizer: await writeEntry({ folder, name: "tokenizer.json" }, { disk, chunks: [tokenizerText] }),
    train: await writeSplit(split.train, encodeDocuments(split.train, tokenizer, onEncoded), {
      ...place,
      shardTokens: trainShardTokens,
      nameOf: (shard) => `train-${String(shard).padStart(3, "0")}.bin`,
    }),
    heldOut: await writeSplit(split.heldOut, heldOutTokens, {
      ...place,
      shardTokens: Infinity,
      nameOf: () => "heldout.bin",
    }),
  };
  const manifest: DatasetManifest = {
    format: datasetFormat,
    hash: datasetHashOf(filesOf(files)),
    corpus,
    request,
    tokenBytes,
    source: split.source,
    ...files,
    bytesPerToken: files.train.textBytes / files.train.tokens,
    unigramEntropy: unigramEntropy(heldOutTokens.flat()),
  };
  const text = encoder.encode(`${JSON.stringify(manifest, null, 2)}\n`);
  await writeAtomically(`${folder}/${manifestName}`, { disk, chunks: [text] });
  return new Dataset({ folder, manifest, tokenizer });
}

/** Of a folder made with the same settings, even if the corpus has changed since; null: none. */
async function keptManifest(options: PrepareOptions): Promise<DatasetManifest | null> {
  const { folder, corpus } = options;
  const manifest = await readDatasetManifest(folder);
  if (manifest === null || manifest.corpus !== corpus) return null;
  const request = requestOf(options, manifest.request.corpusHash);
  return isSameRequest(manifest.request, request) ? await wholeOrNull(folder, manifest) : null;
}

function requestOf(
  { vocabSize, heldOutFraction, maxBytes, seed, tokenizer }: PrepareOptions,
  corpusHash: string,
): DatasetRequest {
  const given = tokenizer === undefined ? {} : { tokenizerHash: sha256Hex(formatTokenizer(tokenizer)) };
  return { corpusHash, vocabSize, heldOutFraction, maxBytes, seed, ...given };
}

async function preparedManifest(folder: string, request: DatasetRequest): Promise<DatasetManifest | null> {
  const manifest = await readDatasetManifest(folder);
  return manifest !== null && isSameRequest(manifest.request, request) ? await wholeOrNull(folder, manifest) : null;
}

async function wholeOrNull(folder: string, manifest: DatasetManifest): Promise<DatasetManifest | null> {
  return await firstProblem(folder, filesOf(manifest)) === null ? manifest : null;
}

function hashCorpus(corpus: Corpus): string {
  return sha256Hex(...corpus.documents.flatMap(({ id, text }) => [`${id.length} ${text.length} `, id, text]));
}

interface Split {
  readonly train: CorpusDocument[];
  readonly heldOut: CorpusDocument[];
  readonly source: DatasetSource;
}

const bytesOf = (documents: readonly CorpusDocument[]): number =>
  documents.reduce((sum, { text }) => sum + encoder.encode(text).length, 0);

function splitDocuments(corpus: Corpus, options: PrepareOptions): Split {
  const textBytes = bytesOf(corpus.documents);
  const wanted = options.maxBytes > 0 ? Math.min(options.maxBytes, textBytes) : textBytes;
  const documents = corpus.isBuiltIn
    ? corpus.documents
    : corpus.documents.flatMap((document) => cutLong(document, options.heldOutFraction * wanted));
  const keyed = new Map(documents.map((each) => [sha256Hex(`${options.seed} `, each.text), each])); // drops duplicates
  const ordered = [...keyed].sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, document]) => ({ document, bytes: encoder.encode(document.text).length }));
  const available = ordered.reduce((sum, each) => sum + each.bytes, 0);
  const total = Math.min(wanted, available);
  const duplicates = documents.length - ordered.length;
  const duplicateBytes = duplicates === 0 ? 0 : bytesOf(documents) - available;
  const source = { documents: documents.length, textBytes, duplicates, duplicateBytes };
  const split: Split = { train: [], heldOut: [], source };
  let used = 0;
  for (const { document, bytes } of ordered) {
    if (split.train.length > 0 && used + bytes > total) break;
    (used < options.heldOutFraction * total ? split.heldOut : split.train).push(document);
    used += bytes;
  }
  if (split.train.length === 0) {
    throw new UserError(
      `Cannot split the corpus '${options.corpus}' into documents to train on and others to evaluate: ` +
        `it has ${plural(ordered.length, "different document")}`,
      { next: "Use more text, or separate documents by blank lines or by <|endoftext|>" },
    );
  }
  return split;
}

function trainTokenizer(documents: readonly CorpusDocument[], vocabSize: number): Tokenizer {
  const smallest = byteTokens + 64;
  if (vocabSize < smallest) {
    throw new UserError(
      `Cannot make a tokenizer: model.vocabSize must be at least ${smallest}, including 256 bytes, ` +
        `but is ${vocabSize}`,
      { next: "Pass a larger model.vocabSize" },
    );
  }
  const model = trainBpe({ wordCounts: countWords(documents.map(({ text }) => text)), vocabSize });
  const found = vocabSizeOf(model);
  if (found < vocabSize) {
    const multiple = Math.floor(found / 64) * 64; // model.vocabSize must be a multiple
    throw new UserError(
      `Cannot make a tokenizer of ${vocabSize} tokens: the text is varied enough for only ${found}`,
      {
        next: multiple < smallest
          ? "Use more text"
          : `Use more text, or a vocabulary that this text fills: --set model.vocabSize=${multiple}`,
      },
    );
  }
  return new Tokenizer(model);
}

function* encodeDocuments(
  documents: readonly CorpusDocument[],
  tokenizer: Tokenizer,
  onEncoded: (done: number, total: number) => void = () => {},
): Generator<number[]> {
  const total = documents.reduce((sum, { text }) => sum + text.length, 0);
  let done = 0;
  for (const { text } of documents) {
    onEncoded(done, total);
    done += text.length;
    const tokens = tokenizer.encode(text);
    tokens.push(tokenizer.endOfText);
    yield tokens;
  }
}

interface SplitFiles {
  readonly folder: string;
  readonly disk: Disk;
  readonly tokenBytes: TokenBytes;
  readonly shardTokens: number; // a shard ends with the document that fills it
  readonly nameOf: (shard: number) => string;
}

async function writeSplit(
  documents: readonly CorpusDocument[],
  tokensOfDocuments: Iterable<readonly number[]>,
  options: SplitFiles,
): Promise<DatasetSplit> {
  const { folder, disk, tokenBytes } = options;
  const files: (FileEntry & { tokens: number })[] = [];
  let chunks: Uint8Array[] = [];
  let pending = 0;
  const closeShard = async () => {
    const entry = await writeEntry({ folder, name: options.nameOf(files.length) }, { disk, chunks });
    files.push({ ...entry, tokens: pending });
    chunks = [];
    pending = 0;
  };
  for (const tokens of tokensOfDocuments) {
    chunks.push(tokensAsBytes(tokens, tokenBytes));
    pending += tokens.length;
    if (pending >= options.shardTokens) await closeShard();
  }
  if (pending > 0) await closeShard();
  return {
    documents: documents.length,
    textBytes: bytesOf(documents),
    tokens: files.reduce((sum, file) => sum + file.tokens, 0),
    files,
  };
}
