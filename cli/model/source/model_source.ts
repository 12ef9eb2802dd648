/** A model to use, whatever folder it comes from (open_model.ts). Weights are read a stage at a time. */

import type { RunConfig } from "../../../core/config/config.ts";
import type { StartModel } from "../../../core/ledger/entry.ts";
import type { ModelPlan } from "../../../core/model/shape.ts";
import { parameterTable, type ParameterTensor, type StageSpec, stageSpecs } from "../../../core/model/spec.ts";
import type { Tokenizer } from "../../../core/tokenizer/tokenizer.ts";
import type { ChatTemplate } from "../template/chat_template.ts";

export interface ModelSource {
  readonly path: string;
  /** Null: not trained by a run that is on this machine. */
  readonly trained: TrainedBy | null;
  readonly plan: ModelPlan;
  readonly layersOfStages: readonly number[];
  readonly isTied: boolean; // its file has the embedding as head too; here they are two
  readonly tokenizer: Tokenizer;
  readonly ends: ReadonlySet<number>; // tokens that end a text, the end of a document among them
  readonly tokenizerFile: Uint8Array; // tokenizer.json as it was read
  /** How a conversation becomes a text; null: the model has only learned to go on with texts. */
  readonly chat: ChatTemplate | null;
  /** Files about tokens and generation that came with the model, by name, for its export. */
  readonly settings: ReadonlyMap<string, Uint8Array>;
  /** The stage's flat vector (`parameterTable(spec)`). `spec` is one of `stagesOf(source, …)`. */
  readStage(spec: StageSpec): Promise<Float32Array>;
}

export interface TrainedBy {
  readonly run: string; // folder
  readonly runId: string;
  readonly round: number;
  readonly step: number;
  readonly config: RunConfig;
  readonly datasetHash: string;
  readonly from: StartModel | null; // the model that the run began with
}

/** Stages for `sequences` texts at once of `contextLength` tokens, head to tail. */
export function stagesOf(
  { plan, layersOfStages }: Pick<ModelSource, "plan" | "layersOfStages">,
  { sequences, contextLength }: { sequences: number; contextLength: number },
): StageSpec[] {
  return stageSpecs({ ...plan, train: { sequencesPerMicrobatch: sequences } }, layersOfStages)
    .map((spec) => ({ ...spec, model: { ...spec.model, contextLength } }));
}

const wholeStages = (source: Pick<ModelSource, "plan" | "layersOfStages">): StageSpec[] =>
  stagesOf(source, { sequences: 1, contextLength: source.plan.model.contextLength });

/** Of all stages, head to tail, with offsets in their own stage's vector. */
export const tensorsOf = (source: Pick<ModelSource, "plan" | "layersOfStages">): ParameterTensor[] =>
  wholeStages(source).flatMap((spec) => [...parameterTable(spec).tensors]);

/** In the order of `tensorsOf`; stages are read one by one. */
export async function* valuesOf(source: ModelSource): AsyncGenerator<Float32Array> {
  for (const spec of wholeStages(source)) {
    const vector = await source.readStage(spec);
    for (const { offset, size } of parameterTable(spec).tensors) yield vector.subarray(offset, offset + size);
  }
}
