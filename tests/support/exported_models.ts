/** Toy models of every kind of boundary as exported folders, for tests and, run as a program, for tests/vectors/export/make_logits.py. */

import { writeCheckpoint } from "../../cli/model/checkpoint/checkpoint.ts";
import { formatTokenizer } from "../../cli/model/data/tokenizer_file.ts";
import { exportModel, type ExportRequest } from "../../cli/model/export/export_model.ts";
import { openModel } from "../../cli/model/source/open_model.ts";
import { sha256Hex } from "../../cli/files/file_entry.ts";
import { parameterTable } from "../../core/model/spec.ts";
import type { ModelShape, PipelineShape } from "../../core/model/shape.ts";
import { TrainedTokenizer } from "../../core/tokenizer/trained_tokenizer.ts";
import { parametersOf, specsOf, tinyConfig } from "./tiny_model.ts";

/** With a context so short that the toy has pairs of channels of all three kinds. */
const ropeOfLlama3 = { ropeFactor: 8, ropeLowFrequency: 1.5, ropeHighFrequency: 5, ropeOriginalContext: 64 };

export const exportedKinds = {
  "plain": { codec: "none" },
  "plain-rope": { codec: "none" },
  "none-side": { codec: "none", sideWidth: 16 },
  "iota": { codec: "iota", bottleneckWidth: 8 },
  "q5block-side": { codec: "q5block", bottleneckWidth: 8, sideWidth: 16 },
  "resbm-side": { codec: "resbm", bottleneckWidth: 8, sideWidth: 16 },
  "mixed": { codec: "q4block", bottleneckWidth: 12, boundaries: "2=none" },
} as const satisfies Record<string, Partial<PipelineShape>>;

const shapes: Partial<Record<ExportedKind, Partial<ModelShape>>> = {
  "plain-rope": ropeOfLlama3,
  "mixed": ropeOfLlama3,
};

export type ExportedKind = keyof typeof exportedKinds;

/** Writes a run with one checkpoint into `folder`/run, and its export into `folder`/model. */
export async function writeExported(
  folder: string,
  kind: ExportedKind,
  more: Partial<ExportRequest> = {},
): Promise<{ run: string; model: string }> {
  const config = tinyConfig({ model: { vocabSize: 320, ...shapes[kind] }, pipeline: exportedKinds[kind] });
  const tokenizer = formatTokenizer(new TrainedTokenizer({ merges: [] }));
  const stages = specsOf(config).map((spec) => ({
    table: parameterTable(spec),
    parameters: parametersOf(spec).map((value) => value * 3), // logits of a trained model's size
  }));
  const state = {
    ...{ runId: "toy-1", round: 1, step: 2, microbatch: 8, config },
    ...{ tokenizerHash: sha256Hex(tokenizer), datasetHash: "b2".repeat(32) },
  };
  const run = `${folder}/run`;
  await writeCheckpoint({ folder: `${run}/checkpoints`, state, stages });
  await Deno.mkdir(`${run}/dataset`, { recursive: true });
  await Deno.writeTextFile(`${run}/dataset/tokenizer.json`, tokenizer);
  const model = `${folder}/model`;
  const request = { out: model, type: "f32", shardBytes: 1e9, card: "", ...more } as const;
  await exportModel(await openModel(run, () => {}), request);
  return { run, model };
}

if (import.meta.main) {
  const [folder] = Deno.args;
  for (const kind of Object.keys(exportedKinds)) await writeExported(`${folder}/${kind}`, kind as ExportedKind);
}
