/** What a stage takes on a device, and whether blocks are recomputed to fit. */

import { parameterTable, type StageSpec } from "../core/model/spec.ts";
import type { StageOptions } from "./compute.ts";
import { type FitAdapter, fitStage } from "./stage_fit.ts";
import { VectorTable } from "./vector_table.ts";

interface StageParts {
  readonly parameters: number;
  readonly gradients: number;
  readonly optimizer: number; // state
  readonly work: number; // activations, their gradients, wires, logits, scratch
}

export interface StagePlan {
  readonly parameters: number; // values, with padding
  readonly bytes: number; // as far as it got if there is a problem
  readonly parts: StageParts;
  readonly recomputes: boolean;
  readonly problem: Error | null; // it cannot be built on this device
  readonly fits: boolean; // within `memoryBytes`
}

export async function planStage(spec: StageSpec, adapter: FitAdapter, options: StageOptions = {}): Promise<StagePlan> {
  if (options.recomputes !== undefined) return await planOf(spec, adapter, options);
  const held = await planOf(spec, adapter, { ...options, recomputes: false });
  if (held.fits) return held;
  const again = await planOf(spec, adapter, { ...options, recomputes: true });
  return again.problem === null ? again : held;
}

async function planOf(spec: StageSpec, adapter: FitAdapter, options: StageOptions): Promise<StagePlan> {
  const { optimizer, recomputes = false, memoryBytes = Infinity } = options;
  const { bytes, problem } = await fitStage(spec, adapter, options);
  const table = parameterTable(spec);
  const vectors = new VectorTable(table, optimizer);
  const stateFloats = vectors.state.reduce((sum, { name }) => sum + vectors.lengthOf(name), 0);
  const [values, state] = [4 * table.length, 4 * stateFloats];
  return {
    parameters: table.length,
    bytes,
    parts: { parameters: values, gradients: values, optimizer: state, work: Math.max(0, bytes - 2 * values - state) },
    recomputes,
    problem,
    fits: problem === null && bytes <= memoryBytes,
  };
}
