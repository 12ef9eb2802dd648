/**
 * `dataset.json`: describes a prepared dataset. It is written last, so a folder without it is not a dataset.
 *
 * `hash` names the data in the protocol: the SHA-256 of the lines `<sha256>  <name>\n` of tokenizer, held-out file and
 * shards, as from `sha256sum tokenizer.json heldout-*.bin train-*.bin | sha256sum`.
 */

import * as v from "valibot";
import { knobs } from "../../../core/config/knobs.ts";
import { countShape, type FileEntry, fileEntryShape, sha256Hex, sha256Shape } from "../../files/file_entry.ts";
import { readJsonFile } from "../../files/json_file.ts";

export const datasetFormat = "iota-dataset-1";
export const manifestName = "dataset.json";
export const tokenizerName = "tokenizer.json";

const requestShape = v.object({
  corpusHash: sha256Shape, // of the whole corpus
  vocabSize: countShape,
  heldOutFraction: v.number(),
  maxBytes: countShape, // 0 = all
  seed: countShape,
  tokenizerHash: v.exactOptional(sha256Shape), // of a model's; absent: trained on the text
});

export const splitShape = v.pipe(
  v.object({
    documents: countShape,
    textBytes: countShape,
    tokens: countShape,
    files: v.array(v.object({ ...fileEntryShape.entries, tokens: countShape })),
  }),
  v.check(
    ({ tokens, files }) => tokens === files.reduce((sum, file) => sum + file.tokens, 0),
    "must have as many tokens as its files together",
  ),
);

export const sourceShape = v.object({
  documents: countShape,
  textBytes: countShape,
  duplicates: countShape, // documents that are equal to another
  duplicateBytes: countShape,
});

const inputShape = v.object({
  name: v.string(),
  format: v.string(),
  weight: v.number(), // how often its training documents are used in a pass
  ...sourceShape.entries,
});

const fieldsShape = v.object({
  format: v.literal(datasetFormat),
  hash: sha256Shape,
  corpus: v.string(),
  request: requestShape,
  tokenBytes: v.picklist([2, 4]), // little-endian u16 up to 65,536 tokens of vocabulary, u32 above
  source: v.optional(sourceShape), // older versions did not write it
  inputs: v.optional(v.array(inputShape)), // as the source
  license: v.optional(v.string()), // as its owner says
  origin: v.optional(v.string()),
  folder: v.optional(v.string()), // with the shards, where they are not beside the manifest
  tokenizer: fileEntryShape,
  endOfText: v.optional(countShape), // the id that ends documents; earlier versions did not write it
  train: splitShape,
  heldOut: splitShape,
  bytesPerToken: v.number(), // UTF-8 bytes of text per token, in the training split
  unigramEntropy: v.number(), // nats per token of the held-out split
});

const manifestShape = v.pipe(
  fieldsShape,
  v.check(
    ({ tokenBytes, train, heldOut }) =>
      [...train.files, ...heldOut.files].every(({ bytes, tokens }) => bytes === tokens * tokenBytes),
    "its files must have as many bytes as their tokens take",
  ),
);

export type DatasetRequest = Readonly<v.InferOutput<typeof requestShape>>;
export type DatasetSource = Readonly<v.InferOutput<typeof sourceShape>>;
export type DatasetInput = Readonly<v.InferOutput<typeof inputShape>>;
export type DatasetSplit = Readonly<v.InferOutput<typeof splitShape>>;
export type DatasetManifest = Readonly<v.InferOutput<typeof manifestShape>>;

/** Rows of a model's embedding for so many tokens. */
export function rowsFor(tokens: number): number {
  const { multipleOf } = knobs["model.vocabSize"];
  return Math.ceil(tokens / multipleOf) * multipleOf;
}

export function filesOf(manifest: Pick<DatasetManifest, "tokenizer" | "train" | "heldOut">): FileEntry[] {
  return [manifest.tokenizer, ...manifest.heldOut.files, ...manifest.train.files];
}

export function datasetHashOf(files: readonly FileEntry[]): string {
  return sha256Hex(files.map((file) => `${file.sha256}  ${file.name}\n`).join(""));
}

export function isSameRequest(a: DatasetRequest, b: DatasetRequest): boolean {
  const values = (request: DatasetRequest) =>
    [
      request.corpusHash,
      request.vocabSize,
      request.heldOutFraction,
      request.maxBytes,
      request.seed,
      request.tokenizerHash,
    ]
      .join();
  return values(a) === values(b);
}

export async function readDatasetManifest(folder: string): Promise<DatasetManifest | null> {
  const shaped = await readJsonFile(`${folder}/${manifestName}`, manifestShape);
  if (shaped === null || "problem" in shaped) return null;
  return datasetHashOf(filesOf(shaped.value)) === shaped.value.hash ? shaped.value : null;
}
