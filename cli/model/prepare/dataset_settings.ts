/** The settings that follow from a run's prepared dataset: a model has rows for its tokens. */

import type { ResolveInput } from "../../../core/settings/parse.ts";
import { readGiven } from "../../../core/settings/parse.ts";
import { isPrepared } from "./collect_small.ts";
import { readDatasetManifest, rowsFor } from "../data/dataset_manifest.ts";

export async function withDatasetSettings(input: ResolveInput): Promise<ResolveInput> {
  const corpus = readGiven(input).values.get("data.corpus");
  const manifest = typeof corpus === "string" && await isPrepared(corpus) ? await readDatasetManifest(corpus) : null;
  if (manifest === null) return input;
  return { ...input, dataset: { "model.vocabSize": rowsFor(manifest.request.vocabSize) } };
}
