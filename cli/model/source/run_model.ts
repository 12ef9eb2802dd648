/** A checkpoint of a run as a model. Its tokenizer is in the run's dataset. */

import { splitLayers } from "../../../core/model/stages.ts";
import { parameterTable } from "../../../core/model/spec.ts";
import { type FoundCheckpoint, latestCheckpoint, readStage } from "../checkpoint/checkpoint.ts";
import { manifestName, readManifest } from "../checkpoint/manifest.ts";
import { openDatasetTokenizer } from "../data/dataset.ts";
import { isFile } from "../../files/disk.ts";
import type { ModelSource } from "./model_source.ts";

/** `path`: the run's folder or one of its checkpoints. Null: neither. */
export async function openRunModel(path: string, warn: (text: string) => void): Promise<ModelSource | null> {
  const place = await placeOf(path, warn);
  if (place === null) return null;
  const { run, found: { folder, manifest } } = place;
  const { config, runId, round, step, datasetHash, from = null } = manifest;
  const opened = await openDatasetTokenizer(`${run}/dataset`, manifest.tokenizerHash);
  return {
    path: folder,
    trained: { run, runId, round, step, config, datasetHash, from },
    plan: config,
    layersOfStages: splitLayers(config),
    isTied: false,
    ...opened,
    ...{ ends: new Set([opened.tokenizer.endOfText]), chat: null, settings: new Map() },
    readStage: (spec) => readStage({ folder, stage: spec.index, table: parameterTable(spec) }),
  };
}

async function placeOf(
  path: string,
  warn: (text: string) => void,
): Promise<{ run: string; found: FoundCheckpoint } | null> {
  const folder = path.replace(/\/+$/, "");
  if (await isFile(`${folder}/${manifestName}`)) {
    return { run: `${folder}/../..`, found: { folder, manifest: await readManifest(folder) } };
  }
  const found = await latestCheckpoint(`${folder}/checkpoints`, warn);
  return found === null ? null : { run: folder, found };
}
