/** A model to use, whatever folder it comes from (open_model.ts). Weights are read a stage at a time. */

import type { RunConfig } from "../../../core/config/config.ts";
import type { ModelPlan } from "../../../core/model/shape.ts";
import { type StageSpec, stageSpecs } from "../../../core/model/spec.ts";
import type { Tokenizer } from "../../../core/tokenizer/bpe.ts";

export interface ModelSource {
  readonly path: string;
  /** Null: not trained by a run that is on this machine. */
  readonly trained: TrainedBy | null;
  readonly plan: ModelPlan;
  readonly layersOfStages: readonly number[];
  readonly tokenizer: Tokenizer;
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
}

/** Stages for `sequences` texts at once of `contextLength` tokens, head to tail. */
export function stagesOf(
  { plan, layersOfStages }: Pick<ModelSource, "plan" | "layersOfStages">,
  { sequences, contextLength }: { sequences: number; contextLength: number },
): StageSpec[] {
  return stageSpecs({ ...plan, train: { sequencesPerMicrobatch: sequences } }, layersOfStages)
    .map((spec) => ({ ...spec, model: { ...spec.model, contextLength } }));
}
