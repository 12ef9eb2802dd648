/**
 * The token side embedding of a stage that receives a wire: a learned row per token, widened and added to the residual
 * stream, so that the wire need not carry what the token's id determines (like MAPL's anchors, arXiv 2606.05484; unlike
 * the frozen table of protocol models, arXiv 2506.01260).
 */

import type { TensorDraft } from "../tensor.ts";

/** (V, k) */
export const sideTableName = (index: number) => `model.boundary.${index}.side_table.weight`;
/** (d, k) */
export const sideName = (index: number) => `model.boundary.${index}.side.weight`;

const streamDeviation = 0.02; // of the initial addition, as in the model's own embedding

interface SideShape {
  readonly vocabSize: number; // V
  readonly modelWidth: number; // d
  readonly sideWidth: number; // k
}

export function sideTensors(index: number, { vocabSize, modelWidth, sideWidth }: SideShape): TensorDraft[] {
  return [
    { name: sideTableName(index), shape: [vocabSize, sideWidth], initial: { type: "normal", std: 1 } },
    {
      name: sideName(index),
      shape: [modelWidth, sideWidth],
      initial: { type: "normal", std: streamDeviation / Math.sqrt(sideWidth) },
    },
  ];
}

/** Per token of one forward. */
export const sideFlops = ({ modelWidth, sideWidth }: Pick<SideShape, "modelWidth" | "sideWidth">): number =>
  sideWidth + 2 * modelWidth * sideWidth;

export const isSideTable = (name: string): boolean => /^model\.boundary\.\d+\.side_table\.weight$/.test(name);
