/**
 * A stage's parameters and gradients as named float64 views of two flat vectors laid out by `parameterTable`.
 *
 * Invariant: the two vectors live as long as the model; loading copies into them.
 */

import { present } from "../../../core/assert.ts";
import { type ParameterTable, parameterTable, type StageSpec } from "../../../core/model/spec.ts";

export interface Tensor {
  readonly value: Float64Array;
  readonly gradient: Float64Array;
}

export interface StageModel {
  readonly spec: StageSpec;
  readonly table: ParameterTable;
  readonly parameters: Float64Array; // all tensors, flat
  readonly gradients: Float64Array; // same layout
  readonly tensors: ReadonlyMap<string, Tensor>;
}

export function createStageModel(spec: StageSpec): StageModel {
  const table = parameterTable(spec);
  const parameters = new Float64Array(table.length);
  const gradients = new Float64Array(table.length);
  const tensors = new Map<string, Tensor>();
  for (const { name, offset, size } of table.tensors) {
    const value = parameters.subarray(offset, offset + size);
    tensors.set(name, { value, gradient: gradients.subarray(offset, offset + size) });
  }
  return { spec, table, parameters, gradients, tensors };
}

export function tensorOf(model: StageModel, name: string): Tensor {
  return present(model.tensors.get(name), `Stage ${model.spec.index} has no tensor '${name}'`);
}

/** Tensor `part` of a layer, e.g. "self_attn.q_proj". */
export function layerTensor(model: StageModel, layer: number, part: string): Tensor {
  return tensorOf(model, `model.layers.${layer}.${part}.weight`);
}

/** N = B * T. */
export function rowsOf({ sequences, model }: StageSpec): number {
  return sequences * model.contextLength;
}
