/**
 * What surrounds a block's halves: the residual stream inside a stage, the codec's ends at a boundary. The context's
 * `residualGradient` is dL/d(residual stream) wherever a plain end would leave it, so a block need not know its
 * neighbour.
 */

import type { BufferRange } from "../stage_ops.ts";
import type { LayerContext, Piece } from "./context.ts";

export interface BlockStart {
  readonly input: BufferRange; // (rows, d), the attention half's
  readonly residual: BufferRange | undefined; // (rows, d), added to the half's output; none: `after` does it
  readonly inputGradient: BufferRange;
  readonly accumulate: boolean;
  readonly before: Piece; // ahead of the attention half
  readonly after: Piece; // between the halves
}

export interface BlockEnd {
  readonly residual: BufferRange | undefined; // (rows, d), added to the half's output; none: `after` does it
  readonly outputGradient: BufferRange; // (rows, d), dL/d(FFN half's output), from `after`
  readonly after: Piece; // behind the FFN half
}

export const noPiece: Piece = { forward: [], backward: () => [] };

export function plainStart({ residualGradient }: LayerContext, input: BufferRange): BlockStart {
  return { input, residual: input, inputGradient: residualGradient, accumulate: true, before: noPiece, after: noPiece };
}

export function plainEnd({ residualGradient }: LayerContext, attended: BufferRange): BlockEnd {
  return { residual: attended, outputGradient: residualGradient, after: noPiece };
}
