/**
 * What a block has before its attention half and after its FFN half: inside a stage the residual stream; at a
 * boundary the codec's ends (gpu/codecs).
 *
 * Contract for both directions: `residualGradient` of the context is dL/d(residual stream) wherever a plain end would
 * leave it, so a block need not know its neighbour.
 */

import type { BufferRange } from "../stage_ops.ts";
import type { LayerContext, Piece } from "./context.ts";

export interface BlockStart {
  readonly input: BufferRange; // (rows, d), of the attention half
  readonly residual: BufferRange | undefined; // (rows, d), added to the attention half's output; none: `after` does it
  readonly inputGradient: BufferRange; // (rows, d), where the attention half leaves dL/d(input)
  readonly accumulate: boolean; // it adds to inputGradient, which already holds the residual's share
  readonly before: Piece; // ahead of the attention half
  readonly after: Piece; // between the halves
}

export interface BlockEnd {
  readonly residual: BufferRange | undefined; // (rows, d), added to the FFN half's output; none: `after` does it
  readonly outputGradient: BufferRange; // (rows, d), where `after` leaves dL/d(FFN half's output)
  readonly after: Piece; // behind the FFN half
}

export const noPiece: Piece = { forward: [], backward: [] };

export function plainStart({ residualGradient }: LayerContext, input: BufferRange): BlockStart {
  return { input, residual: input, inputGradient: residualGradient, accumulate: true, before: noPiece, after: noPiece };
}

export function plainEnd({ residualGradient }: LayerContext, attended: BufferRange): BlockEnd {
  return { residual: attended, outputGradient: residualGradient, after: noPiece };
}
