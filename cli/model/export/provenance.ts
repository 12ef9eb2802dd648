/**
 * `provenance.json` of an export: which round of which run it is, so that `iota verify --model` can compare its tensors
 * with what the run's signed log says the merge agreed on.
 */

import * as v from "valibot";
import { beyondLlama } from "../../../core/model/plain.ts";
import type { StageSpec } from "../../../core/model/spec.ts";
import { countShape } from "../../files/file_entry.ts";
import { readJsonFile } from "../../files/json_file.ts";
import { UserError } from "../../program/errors.ts";
import { type ModelSource, stagesOf } from "../source/model_source.ts";
import type { ExportType } from "../tensors/float_types.ts";
import type { TrainedFacts } from "./model_card.ts";

export const provenanceName = "provenance.json";

const stageCount = v.pipe(countShape, v.minValue(1), v.maxValue(1024));

const provenanceShape = v.object({
  run: v.string(),
  round: countShape,
  step: countShape,
  type: v.picklist(["f32", "bf16"]),
  layersOfStages: v.pipe(v.array(stageCount), v.minLength(1), v.maxLength(64)),
  log: v.nullable(v.object({ hub: v.string(), line: countShape, hash: v.string() })), // its signed head at the time
});

export type Provenance = Readonly<v.InferOutput<typeof provenanceShape>>;

/** Null: no run of this machine trained the model. */
export function provenanceOf(
  { trained, layersOfStages }: ModelSource,
  { type, log }: { type: ExportType; log: TrainedFacts["log"] },
): Provenance | null {
  if (trained === null) return null;
  const { runId: run, round, step } = trained;
  const head = log === null ? null : { hub: log.hub, line: log.line, hash: log.hash };
  return { run, round, step, type, layersOfStages: [...layersOfStages], log: head };
}

export async function readProvenance(folder: string): Promise<Provenance> {
  const shaped = await readJsonFile(`${folder}/${provenanceName}`, provenanceShape);
  if (shaped === null) {
    throw new UserError(`The model in '${folder}' does not say where it comes from: ${provenanceName} is missing`, {
      next: "Export the run's model again with this version of iota",
    });
  }
  if ("value" in shaped) return shaped.value;
  throw new UserError(`'${folder}/${provenanceName}' is damaged (${shaped.problem})`, {
    next: "Export the run's model again",
  });
}

/** The stages that trained it: a plain Llama's folder does not tell them. Null: it cannot have been cut so. */
export function trainedStages({ plan, layersOfStages }: ModelSource, from: Provenance): readonly StageSpec[] | null {
  const sum = (counts: readonly number[]) => counts.reduce((all, count) => all + count, 0);
  if (sum(from.layersOfStages) !== sum(layersOfStages)) return null;
  const isAsKnown = from.layersOfStages.join() === layersOfStages.join();
  if (!isAsKnown && beyondLlama(plan) !== null) return null;
  const { boundaries: _, ...pipeline } = plan.pipeline;
  const cut = isAsKnown ? plan : { ...plan, pipeline: { ...pipeline, stages: from.layersOfStages.length } };
  return stagesOf({ plan: cut, layersOfStages: from.layersOfStages }, {
    sequences: 1,
    contextLength: plan.model.contextLength,
  });
}
