/** A run's folder with what a sample of its text needs: a checkpoint of a toy model of three stages, and a tokenizer of bytes. */

import { type CheckpointState, writeCheckpoint } from "../../cli/model/checkpoint/checkpoint.ts";
import { formatTokenizer } from "../../cli/model/data/tokenizer_file.ts";
import { sha256Hex } from "../../cli/files/file_entry.ts";
import { TrainedTokenizer } from "../../core/tokenizer/trained_tokenizer.ts";
import { parameterTable } from "../../core/model/spec.ts";
import { parametersOf, specsOf, tinyConfig } from "./tiny_model.ts";

const config = tinyConfig({ model: { vocabSize: 320, contextLength: 64 } });

const tokenizer = formatTokenizer(new TrainedTokenizer({ merges: [] }));

export async function writeSampledRun(folder: string, { round }: { round: number }): Promise<void> {
  const state: CheckpointState = {
    ...{ runId: "toy-1", round, step: 2 * round, microbatch: 8 * round, config },
    ...{ tokenizerHash: sha256Hex(tokenizer), datasetHash: "b2".repeat(32) },
  };
  const stages = specsOf(config).map((spec) => ({
    table: parameterTable(spec),
    parameters: parametersOf(spec).map((value) => value * 4), // sharper than at the start of a run
  }));
  await writeCheckpoint({ folder: `${folder}/checkpoints`, state, stages });
  await Deno.mkdir(`${folder}/dataset`, { recursive: true });
  await Deno.writeTextFile(`${folder}/dataset/tokenizer.json`, tokenizer);
}
