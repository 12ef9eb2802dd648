/**
 * Prepares a dataset that need not fit into memory, in a folder of its own.
 *
 * Collected text is kept in `.preparing` until all of it is tokens. An interrupted preparation of the same inputs goes on
 * with the first input, or the first shard, that was not finished.
 */

import * as v from "valibot";
import { isFile, realDisk, writeAtomically } from "../../files/disk.ts";
import { countShape, firstProblem, sha256Hex, sha256Shape } from "../../files/file_entry.ts";
import { readJsonFile } from "../../files/json_file.ts";
import { attemptingSync, UserError } from "../../program/errors.ts";
import { Collector, sumOf } from "./collect.ts";
import { splitOf } from "./collect_small.ts";
import { isIndexOf, mostSources } from "./piece_index.ts";
import { FileSpool } from "./spool.ts";
import { trainTokenizer } from "./train_tokenizer.ts";
import { type CollectedText, type DatasetSizes, nothingWritten, writeDataset, type Written } from "./write_dataset.ts";
import type { Dataset } from "../data/dataset.ts";
import { manifestName, sourceShape, splitShape } from "../data/dataset_manifest.ts";
import { filesOfInput } from "../inputs/input_list.ts";
import { type OpenInput, openInput, type ReadOptions } from "../inputs/open_input.ts";
import type { OpenTokenizer } from "../data/tokenizer_file.ts";
import { parseTokenizer } from "../tokenizer/parse_tokenizer.ts";

export interface InputRequest {
  readonly place: string;
  readonly weight: number; // how often its training documents are used in a pass
}

export interface FolderRequest extends ReadOptions {
  readonly out: string;
  readonly inputs: readonly InputRequest[];
  readonly vocabSize: number;
  readonly isVocabAsked: boolean; // otherwise a short text gets fewer
  readonly license?: string | undefined;
  readonly origin?: string | undefined;
  readonly heldOutFraction: number;
  readonly maxBytes: number; // 0 = all
  readonly seed: number;
  readonly tokenizer: OpenTokenizer | null; // null: one is trained
  readonly threads: number;
  readonly sizes?: DatasetSizes;
  readonly onRead: (done: number, total: number) => void; // bytes of the inputs
  readonly onEncoded: (done: number, total: number) => void; // bytes of the text
  readonly signal: AbortSignal;
}

const workName = ".preparing";
const stateName = "state.json";
const mostTextBytes = 2 ** 44; // positions stay exact numbers, far beyond any disk here

const stateShape = v.object({
  request: v.string(), // what must be equal to go on
  read: v.array(v.object({ textBytes: countShape, indexBytes: countShape, counts: sourceShape, format: v.string() })),
  tokenizer: v.nullable(v.string()),
  written: v.object({ jobs: countShape, train: splitShape, heldOut: splitShape }),
});
const savedShape = v.object({ state: stateShape, check: sha256Shape });

type State = v.InferOutput<typeof stateShape>;

/** A state with one changed digit counts as damaged. */
const checkOf = (state: State): string => sha256Hex(JSON.stringify(v.parse(stateShape, state)));

export async function prepareFolder(request: FolderRequest): Promise<Dataset> {
  const work = `${request.out}/${workName}`;
  await mustBeFree(request.out);
  const files = await openFiles(request);
  const identity = identityOf(request, files);
  await realDisk.createFolder(work);
  const state = await readState(work, { identity, request, files: files.length });
  const save = async (change: Partial<State>) => {
    Object.assign(state, change);
    const chunks = [new TextEncoder().encode(JSON.stringify({ state, check: checkOf(state) }))];
    await writeAtomically(`${work}/${stateName}`, { disk: realDisk, chunks });
  };
  const last = state.read.at(-1);
  const text = new FileSpool(`${work}/text`, last?.textBytes ?? 0);
  const index = new FileSpool(`${work}/index`, last?.indexBytes ?? 0);
  try {
    const collected = await collect(request, { files, state, save, text, index });
    const tokenizer = request.tokenizer ?? (state.tokenizer === null
      ? trainTokenizer(collected, collected.rule, {
        vocabSize: request.vocabSize,
        setting: request.isVocabAsked ? (size) => `--vocab ${size}` : null,
      })
      : openTokenizerText(state.tokenizer));
    if (request.tokenizer === null) await save({ tokenizer: new TextDecoder().decode(tokenizer.tokenizerFile) });
    const dataset = await write(collected, { request, tokenizer, state, save });
    await realDisk.remove(work);
    return dataset;
  } finally {
    text.close();
    index.close();
  }
}

/** Of one that was trained: the state keeps no other. */
function openTokenizerText(text: string): OpenTokenizer {
  const tokenizerFile = new TextEncoder().encode(text);
  return { tokenizerFile, tokenizer: parseTokenizer(tokenizerFile, { path: stateName }) };
}

async function mustBeFree(out: string): Promise<void> {
  if (!await isFile(`${out}/${manifestName}`)) return;
  throw new UserError(`There is already a dataset in '${out}'`, {
    next: "See it with iota data show, or pass another folder with --out",
  });
}

interface InputFile {
  readonly source: number; // of which input
  readonly open: OpenInput;
}

async function openFiles({ inputs, ...options }: FolderRequest): Promise<InputFile[]> {
  if (inputs.length > mostSources) {
    throw new UserError(`There are ${inputs.length} inputs, and ${mostSources} at most`, { next: "Pass their folder" });
  }
  const files: InputFile[] = [];
  for (const [source, { place }] of inputs.entries()) {
    for (const file of await filesOfInput(place)) files.push({ source, open: await openInput(file, options) });
  }
  return files;
}

/** Anything that would change the result. */
function identityOf(request: FolderRequest, files: readonly InputFile[]): string {
  const { inputs, vocabSize, heldOutFraction, maxBytes, seed, tokenizer, format, field, separator } = request;
  return JSON.stringify({
    ...{ inputs, vocabSize, heldOutFraction, maxBytes, seed, format, field, separator },
    isVocabAsked: request.isVocabAsked,
    files: files.map(({ open: { input: { name, bytes, version } } }) => [name, bytes, version]),
    tokenizer: tokenizer === null ? null : [sha256Hex(tokenizer.tokenizerFile), tokenizer.tokenizer.endOfText],
  });
}

async function readState(
  work: string,
  { identity, request: { seed, inputs }, files }: { identity: string; request: FolderRequest; files: number },
): Promise<State> {
  const saved = await readJsonFile(`${work}/${stateName}`, savedShape);
  if (saved !== null && "value" in saved) {
    const { state, check } = saved.value;
    const isOurs = state.request === identity && check === checkOf(state) && state.read.length <= files;
    if (isOurs && await isThere(work, state, { seed, sources: inputs.length })) return state;
  }
  return { request: identity, read: [], tokenizer: null, written: { ...nothingWritten, jobs: 0 } };
}

/** A state without the text that it names is of no use. */
async function isThere(work: string, { read }: State, of: { seed: number; sources: number }): Promise<boolean> {
  const last = read.at(-1);
  if (last === undefined) return true;
  for (const [name, bytes] of [["text", last.textBytes], ["index", last.indexBytes]] as const) {
    const path = `${work}/${name}`;
    if (!await isFile(path)) return false;
    if (attemptingSync({ action: "read", value: path }, () => Deno.statSync(path).size) < bytes) return false;
  }
  const [text, index] = [
    new FileSpool(`${work}/text`, last.textBytes),
    new FileSpool(`${work}/index`, last.indexBytes),
  ];
  try {
    return isIndexOf({ text, index }, of);
  } finally {
    text.close();
    index.close();
  }
}

interface Work {
  readonly state: State;
  readonly save: (change: Partial<State>) => Promise<void>;
}

async function collect(
  request: FolderRequest,
  { files, state, save, text, index }: Work & {
    readonly files: readonly InputFile[];
    readonly text: FileSpool;
    readonly index: FileSpool;
  },
): Promise<CollectedText> {
  const { signal, onRead } = request;
  const total = files.reduce((sum, { open }) => sum + open.input.bytes, 0);
  const collector = new Collector({ text, index, seed: request.seed, mostBytes: mostTextBytes });
  let done = 0;
  for (const [i, { source, open }] of files.entries()) {
    if (i >= state.read.length) {
      onRead(done, total);
      const pieces = open.pieces((bytes) => {
        signal.throwIfAborted();
        onRead(done + bytes, total);
      });
      const counts = (await collector.add(pieces, source))!;
      text.sync();
      index.sync();
      const read = { textBytes: text.bytes, indexBytes: index.bytes, counts, format: open.format };
      await save({ read: [...state.read, read] });
    }
    done += open.input.bytes;
  }
  const inputs = request.inputs.map(({ place, weight }, source) => {
    const own = state.read.filter((_, i) => files[i]!.source === source);
    return { name: place, weight, format: own[0]!.format, ...sumOf(own.map(({ counts }) => counts)) };
  });
  const all = sumOf(inputs);
  return { text, index, rule: splitOf({ text, index }, request, all.documents - all.duplicates), source: all, inputs };
}

async function write(
  collected: CollectedText,
  { request, tokenizer, state, save }: Work & { readonly request: FolderRequest; readonly tokenizer: OpenTokenizer },
): Promise<Dataset> {
  const { out, inputs, heldOutFraction, maxBytes, seed, threads, onEncoded, signal } = request;
  const used = collected.inputs.reduce((sum, each) => sum + each.weight * (each.textBytes - each.duplicateBytes), 0);
  const total = maxBytes > 0 ? Math.min(maxBytes, used) : used;
  return await writeDataset(collected, {
    ...{ folder: out, tokenizer, threads, disk: realDisk, sizes: request.sizes },
    terms: { license: request.license, origin: request.origin },
    corpus: inputs.map(({ place }) => place).join(", "),
    request: { vocabSize: tokenizer.tokenizer.vocabSize, heldOutFraction, maxBytes, seed },
    written: await wholeShards(out, state.written),
    onWritten: (written) =>
      save({ written: { ...written, train: copyOf(written.train), heldOut: copyOf(written.heldOut) } }),
    onEncoded: (done) => {
      signal.throwIfAborted();
      onEncoded(done, total);
    },
  });
}

type StoredSplit = State["written"]["train"];

const copyOf = (split: Written["train"]): StoredSplit => ({ ...split, files: [...split.files] });

async function wholeShards(out: string, written: Written): Promise<Written> {
  const problem = await firstProblem(out, [...written.train.files, ...written.heldOut.files]);
  return problem === null ? written : nothingWritten;
}
