/** The settings that follow from a run's prepared dataset: a model has rows for its tokens. */

import type { ResolveInput } from "../../../core/settings/parse.ts";
import { readGiven } from "../../../core/settings/parse.ts";
import { isPrepared } from "./collect_small.ts";
import { readDatasetManifest } from "../data/dataset_manifest.ts";

const rowsMultiple = 64; // of model.vocabSize

export async function withDatasetSettings(input: ResolveInput): Promise<ResolveInput> {
  const corpus = readGiven(input).values.get("data.corpus");
  const manifest = typeof corpus === "string" && await isPrepared(corpus) ? await readDatasetManifest(corpus) : null;
  if (manifest === null) return input;
  const vocabSize = Math.ceil(manifest.request.vocabSize / rowsMultiple) * rowsMultiple;
  return { ...input, dataset: { "model.vocabSize": vocabSize } };
}
