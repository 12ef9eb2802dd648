/**
 * The table of optimizers as the reference computes them: from a name to one step on a stage's flat vectors.
 */

import { present } from "../../core/assert.ts";
import type { ParameterTable } from "../../core/model/spec.ts";
import type { OptimizerName } from "../../core/train/optimizers.ts";
import type { StageVector, StepOptions } from "../compute.ts";
import { adamw } from "./adamw.ts";

export interface ReferenceState {
  readonly table: ParameterTable;
  readonly parameters: Float64Array; // float32 values, like all state at rest
  readonly vectors: ReadonlyMap<StageVector, Float64Array>; // by name, packed as `StateVector` says
  readonly steps: number; // applied before this one
}

/** Changes parameters and vectors in place, on the accumulated gradient. */
export type ReferenceUpdate = (state: ReferenceState, gradients: Float64Array, options: StepOptions) => void;

export const referenceUpdates: Readonly<Record<OptimizerName, ReferenceUpdate>> = {
  adamw: ({ table, parameters, vectors, steps }, gradients, options) => {
    const first = present(vectors.get("firstMoments"), "AdamW keeps first moments");
    const second = present(vectors.get("secondMoments"), "AdamW keeps second moments");
    adamw({ parameters, first, second, decayLength: table.decayLength, steps }, gradients, options);
  },
};
