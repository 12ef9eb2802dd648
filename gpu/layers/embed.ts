/** Token embedding: the head stage's way in. */

import type { BufferRange } from "../stage_ops.ts";
import { tokenIndexLength } from "../token_index.ts";
import type { LayerContext, Piece } from "./context.ts";

const name = "model.embed_tokens.weight";

/** Where a stage that looks tokens up reads their ids. */
export interface TokenInput {
  readonly tokens: BufferRange; // u32 (rows)
  readonly index: BufferRange; // u32, tokenIndex(tokens); the backward reads it
}

export interface Embed extends Piece, TokenInput {
  readonly output: BufferRange; // (rows, d)
}

export function buildEmbed(context: LayerContext): Embed {
  const { ops, buffers, rows, width, residualGradient } = context;
  const tokens = buffers.scratch("tokens", rows);
  const index = buffers.scratch("token index", tokenIndexLength(rows));
  const output = buffers.storage("embedded tokens", rows * width);
  const parts = context.matrixParts(name).map(({ firstRow: firstId, rows: ids, weight, gradient }) => ({
    ...{ sizes: { rows, width, firstId, ids }, weight, gradient },
  }));
  return {
    tokens,
    index,
    output,
    forward: parts.map(({ sizes, weight: embedding }) => ops.embed(sizes, { tokens, embedding, output })),
    backward: parts.map(({ sizes, gradient: embeddingGradient }) =>
      ops.embedBackward(sizes, { index, outputGradient: residualGradient, embeddingGradient })
    ),
  };
}
