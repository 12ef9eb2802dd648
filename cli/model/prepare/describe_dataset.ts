/** What a dataset holds, for a person and for a program. */

import { byteSize, decimal, plural } from "../../terminal/text/format.ts";
import type { Dataset } from "../data/dataset.ts";

export function describeDataset({ manifest }: Pick<Dataset, "manifest">): string[] {
  const { train, heldOut, bytesPerToken, source, inputs = [], hash, request, license, origin } = manifest;
  const repeated = source?.duplicates ?? 0;
  return [
    ...inputs.map(({ name, format, documents, textBytes, weight }) =>
      `${name} (${format}): ${plural(documents, "document")}, ${byteSize(textBytes)}` +
      (weight === 1 ? "" : `, each used ${decimal(weight)} times`)
    ),
    `training: ${decimal(train.tokens)} tokens of ${bytesPerToken.toFixed(2)} bytes, ` +
    `${plural(train.documents, "document")}, ${plural(train.files.length, "shard")}`,
    `held out: ${decimal(heldOut.tokens)} tokens, ${plural(heldOut.documents, "document")}`,
    ...(repeated === 0 ? [] : [
      `left out: ${plural(repeated, "document")} equal to others, ${byteSize(source!.duplicateBytes)}`,
    ]),
    ...(license === undefined ? [] : [`license: ${license}`]),
    ...(origin === undefined ? [] : [`origin: ${origin}`]),
    `vocabulary: ${decimal(request.vocabSize)} tokens; hash ${hash}`,
  ];
}

export const factsOf = ({ manifest }: Dataset) => ({
  hash: manifest.hash,
  inputs: manifest.inputs ?? [],
  documents: manifest.train.documents,
  tokens: manifest.train.tokens,
  textBytes: manifest.train.textBytes,
  heldOutDocuments: manifest.heldOut.documents,
  heldOutTokens: manifest.heldOut.tokens,
  heldOutBytes: manifest.heldOut.textBytes,
  bytesPerToken: manifest.bytesPerToken,
  duplicates: manifest.source?.duplicates ?? 0,
  duplicateBytes: manifest.source?.duplicateBytes ?? 0,
  vocabSize: manifest.request.vocabSize,
  shards: manifest.train.files.length,
});
