/** What an optimizer of the reference works on: a stage's flat vectors. */

import type { ParameterTable } from "../../../core/model/spec.ts";
import type { StageVector, StepOptions } from "../../../gpu/compute.ts";

export interface ReferenceState {
  readonly table: ParameterTable;
  readonly parameters: Float64Array; // float32 values, like all state at rest
  readonly vectors: ReadonlyMap<StageVector, Float64Array>; // by name, packed as `StateVector` says
  readonly steps: number; // applied before this one
}

/** Changes parameters and vectors in place, on the accumulated gradient. */
export type ReferenceUpdate = (state: ReferenceState, gradients: Float64Array, options: StepOptions) => void;
