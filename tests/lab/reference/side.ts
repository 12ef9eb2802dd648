/**
 * In float64, what a stage keeps of each token (core/model/side.ts): s = W Table[id], added to what a receiver makes of the wire,
 * both to the attention's input and behind it.
 */

import { sideName, sideTableName } from "../../../core/model/side.ts";
import { embedding, embeddingBackward } from "./embedding.ts";
import { linear, linearBackward } from "./linear.ts";
import { rowsOf, type StageModel, tensorOf } from "./stage_model.ts";

interface SidePlace {
  readonly model: StageModel;
  readonly sideWidth: number;
}

const shapeOf = ({ model, sideWidth }: SidePlace) => ({
  rows: rowsOf(model.spec),
  inputs: sideWidth,
  outputs: model.spec.model.width,
});

const tensorsOf = ({ model }: SidePlace) => ({
  table: tensorOf(model, sideTableName(model.spec.index)),
  matrix: tensorOf(model, sideName(model.spec.index)),
});

/** s (N, d) */
export function sideForward(place: SidePlace, tokens: Uint32Array): Float64Array {
  const { table, matrix } = tensorsOf(place);
  const x = embedding({ tokens, table: table.value }, place.sideWidth);
  return linear({ x, matrix: matrix.value }, shapeOf(place));
}

/** Adds the gradients of its tensors, of dL/ds (N, d). */
export function sideBackward(place: SidePlace, { tokens, ds }: { tokens: Uint32Array; ds: Float64Array }): void {
  const { table, matrix } = tensorsOf(place);
  const x = embedding({ tokens, table: table.value }, place.sideWidth);
  const operands = { x, matrix: matrix.value, dy: ds, dMatrix: matrix.gradient };
  const dx = linearBackward(operands, shapeOf(place));
  embeddingBackward({ tokens, dx, dTable: table.gradient }, place.sideWidth);
}
