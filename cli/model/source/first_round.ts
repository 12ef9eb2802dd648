/**
 * The start of a run with a model's parameters (`--from`): they become the checkpoint of round 0, and the run begins from it
 * as it would resume from any other.
 */

import type { RunConfig } from "../../../core/config/config.ts";
import type { StartModel } from "../../../core/ledger/entry.ts";
import { type FoundCheckpoint, writeCheckpoint } from "../checkpoint/checkpoint.ts";
import { readManifest } from "../checkpoint/manifest.ts";
import type { Dataset } from "../data/dataset.ts";
import { firstParameters, identify, type RunStart } from "./start_model.ts";

interface FirstRound {
  readonly folder: string; // the run's
  readonly runId: string;
  readonly config: RunConfig;
  readonly dataset: Pick<Dataset, "hash" | "manifest">;
  readonly warn: (text: string) => void;
}

export async function writeFirstRound(
  start: RunStart,
  { folder, runId, config, dataset, warn }: FirstRound,
): Promise<{ from: StartModel; found: FoundCheckpoint }> {
  const from = await identify(start);
  const hashes = { tokenizerHash: dataset.manifest.tokenizer.sha256, datasetHash: dataset.hash };
  const written = await writeCheckpoint({
    folder: `${folder}/checkpoints`,
    state: { runId, round: 0, step: 0, microbatch: 0, config, ...hashes, from },
    stages: firstParameters(start.source, config),
    warn,
  });
  return { from, found: { folder: written, manifest: await readManifest(written) } };
}
