/**
 * `manifest.json` of a checkpoint: written last, so a folder without it is not a checkpoint.
 *
 * A parameter hash is the SHA-256 of the stage's raw padded f32 vector, the hash that replicas report after a merge.
 */

import * as v from "valibot";
import type { RunConfig } from "../../../core/config/config.ts";
import { parseRunConfig } from "../../../core/settings/parse.ts";
import { readJsonFile } from "../../files/json_file.ts";
import { countShape, fileEntryShape, sha256Shape } from "../../files/file_entry.ts";
import { UserError } from "../../program/errors.ts";

export const checkpointFormat = "iota-checkpoint-1";
export const manifestName = "manifest.json";

const manifestShape = v.object({
  format: v.literal(checkpointFormat),
  runId: v.string(),
  round: countShape, // merges done
  step: countShape, // optimizer steps done
  microbatch: countShape, // next id of the data order
  parameterHashes: v.array(sha256Shape),
  momentumHashes: v.array(sha256Shape), // one per stage, or none
  files: v.array(fileEntryShape),
  config: v.unknown(),
  tokenizerHash: sha256Shape,
  datasetHash: sha256Shape,
  from: v.exactOptional(v.object({ name: v.string(), parameters: sha256Shape })), // the model that the run began with
});

export type CheckpointManifest = Readonly<Omit<v.InferOutput<typeof manifestShape>, "config"> & { config: RunConfig }>;

export class CheckpointError extends UserError {
  constructor({ folder, problem }: { folder: string; problem: string }) {
    super(`The checkpoint '${folder}' is incomplete or changed: ${problem}`, {
      next: "Use another checkpoint of the run",
    });
  }
}

export function stageFileName(stage: number): string {
  return `stage-${stage}.safetensors`;
}

export function momentumFileName(stage: number): string {
  return `stage-${stage}.momentum.safetensors`;
}

export async function readManifest(folder: string): Promise<CheckpointManifest> {
  const shaped = await readJsonFile(`${folder}/${manifestName}`, manifestShape);
  if (shaped === null) throw new CheckpointError({ folder, problem: `${manifestName} is missing` });
  if ("problem" in shaped) {
    throw new CheckpointError({ folder, problem: `${manifestName} is damaged (${shaped.problem})` });
  }
  const config = parseRunConfig(shaped.value.config);
  if (!config.ok) {
    throw new CheckpointError({
      folder,
      problem: `${manifestName} has a config of another version: ${config.fault.detail}`,
    });
  }
  return { ...shaped.value, config: config.value };
}
