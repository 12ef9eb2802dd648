/** A stage as stages of one layer each, for a machine that cannot hold all of it. */

import type { WireSpec } from "../codec/wire.ts";
import { type ParameterTable, parameterTable, type StageSpec } from "./spec.ts";

export interface LayerSpec {
  readonly spec: StageSpec;
  readonly table: ParameterTable;
  /** `from`: in the whole stage's vector; `to`: in the layer's own. */
  readonly places: readonly { readonly from: number; readonly to: number; readonly size: number }[];
}

/** The residual stream crosses unchanged, so together they compute the stage's bits. */
export function layerSpecs(whole: StageSpec): LayerSpec[] {
  const vocabSize = whole.wireOut?.vocabSize; // the last layer needs the ids
  const inner: WireSpec = {
    codec: "none",
    width: whole.model.width,
    ...(vocabSize === undefined ? {} : { vocabSize }),
  };
  const offsets = new Map(parameterTable(whole).tensors.map(({ name, offset }) => [name, offset]));
  return Array.from({ length: whole.layerCount }, (_, i) => {
    const spec: StageSpec = {
      ...whole,
      firstLayer: whole.firstLayer + i,
      layerCount: 1,
      wireIn: i === 0 ? whole.wireIn : inner,
      wireOut: i === whole.layerCount - 1 ? whole.wireOut : inner,
    };
    const table = parameterTable(spec);
    const places = table.tensors.map(({ name, offset: to, size }) => ({ from: offsets.get(name) ?? NaN, to, size }));
    return { spec, table, places };
  });
}
