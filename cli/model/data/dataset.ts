/** A prepared dataset, open for reading. Opening checks every file against its hash. */

import { heldOutSequences, microbatchSequences, windowsPerPass } from "../../../core/data/microbatch.ts";
import type { MicrobatchId } from "../../../core/ids.ts";
import type { Tokenizer } from "../../../core/tokenizer/tokenizer.ts";
import {
  type DatasetManifest,
  type DatasetSplit,
  filesOf,
  manifestName,
  readDatasetManifest,
  tokenizerName,
} from "./dataset_manifest.ts";
import { UserError } from "../../program/errors.ts";
import { firstProblem } from "../../files/file_entry.ts";
import { tooShort } from "./text_length.ts";
import { TokenReader } from "./token_file.ts";
import { type OpenTokenizer, openTokenizer } from "./tokenizer_file.ts";

export interface Batch {
  readonly inputs: Uint32Array; // (B, T)
  readonly targets: Uint32Array; // (B, T), inputs shifted by one
}

interface BatchShape {
  readonly seed: number;
  readonly sequences: number; // B
  readonly contextLength: number; // T
}

export interface BatchSource {
  readonly windows: number;
  readonly heldOutWindows: number;
  tokensOf(microbatch: MicrobatchId): Batch;
  /** The same evenly spaced windows every time; `sequences` is B of this batch, at most `heldOutWindows`. */
  heldOut(sequences: number): Batch;
}

export class Dataset {
  readonly folder: string;
  readonly manifest: DatasetManifest;
  readonly tokenizer: Tokenizer;
  readonly #train: TokenReader;
  readonly #heldOut: TokenReader;

  constructor(options: { folder: string; manifest: DatasetManifest; tokenizer: Tokenizer }) {
    const { folder, manifest } = options;
    const place = placeOfFiles(folder, manifest);
    const open = (split: DatasetSplit) =>
      new TokenReader({
        files: split.files.map((file) => ({ path: `${place}/${file.name}`, tokens: file.tokens })),
        tokenBytes: manifest.tokenBytes,
        vocabSize: options.tokenizer.vocabSize,
      });
    this.folder = folder;
    this.manifest = manifest;
    this.tokenizer = options.tokenizer;
    this.#train = open(manifest.train);
    this.#heldOut = open(manifest.heldOut);
  }

  get hash(): string {
    return this.manifest.hash;
  }

  batches(shape: BatchShape): BatchSource {
    const { seed, sequences, contextLength } = shape;
    const windows = windowsPerPass({ tokens: this.#train.tokens, contextLength });
    const heldOutWindows = windowsPerPass({ tokens: this.#heldOut.tokens, contextLength });
    if (windows === 0) throw tooShort({ split: "training", tokens: this.#train.tokens, contextLength });
    return {
      windows,
      heldOutWindows,
      tokensOf: (microbatch) => {
        const tokens = this.#train.tokens;
        const request = { datasetHash: this.hash, seed, microbatch, sequences, contextLength, tokens };
        return readBatch(this.#train, { positions: microbatchSequences(request), contextLength });
      },
      heldOut: (count) => {
        if (count > heldOutWindows) {
          throw tooShort({ split: "held-out", tokens: this.#heldOut.tokens, contextLength, sequences: count });
        }
        const positions = heldOutSequences({ sequences: count, contextLength, tokens: this.#heldOut.tokens });
        return readBatch(this.#heldOut, { positions, contextLength });
      },
    };
  }

  close(): void {
    this.#train.close();
    this.#heldOut.close();
  }
}

/** The folder with the shards: a run may use a dataset that is elsewhere. */
export const placeOfFiles = (folder: string, { folder: elsewhere }: Pick<DatasetManifest, "folder">): string =>
  elsewhere ?? folder;

export async function openDatasetTokenizer(folder: string, sha256: string): Promise<OpenTokenizer> {
  const endOfText = (await readDatasetManifest(folder))?.endOfText;
  return await openTokenizer(`${folder}/${tokenizerName}`, { sha256, endOfText });
}

export async function openDataset(folder: string): Promise<Dataset> {
  const manifest = await readDatasetManifest(folder);
  const problem = manifest === null
    ? `it has no valid ${manifestName}`
    : await firstProblem(placeOfFiles(folder, manifest), filesOf(manifest));
  if (manifest === null || problem !== null) {
    throw new UserError(`The dataset in '${folder}' is incomplete or changed: ${problem}`, {
      next: "Check the path, or prepare the dataset again",
    });
  }
  return new Dataset({
    folder,
    manifest,
    ...await openTokenizer(`${folder}/${manifest.tokenizer.name}`, {
      sha256: manifest.tokenizer.sha256,
      endOfText: manifest.endOfText,
    }),
  });
}

function readBatch(reader: TokenReader, options: { positions: readonly number[]; contextLength: number }): Batch {
  const { positions, contextLength } = options;
  const inputs = new Uint32Array(positions.length * contextLength);
  const targets = new Uint32Array(positions.length * contextLength);
  for (const [sequence, position] of positions.entries()) {
    const window = reader.read(position, contextLength + 1);
    inputs.set(window.subarray(0, contextLength), sequence * contextLength);
    targets.set(window.subarray(1), sequence * contextLength);
  }
  return { inputs, targets };
}
