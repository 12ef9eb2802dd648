/** Rows of tables by token id. */

import { embeddingName } from "../../core/model/spec.ts";
import type { BufferRange } from "../stage_ops.ts";
import { tokenIndexLength } from "../token_index.ts";
import type { LayerContext, Piece } from "./context.ts";

export interface Lookup extends Piece {
  readonly tokens: BufferRange; // u32 (rows)
  readonly index: BufferRange; // u32, tokenIndex(tokens), for the backward
  readonly output: BufferRange; // (rows, the table's width)
}

interface LookupOptions {
  readonly table: string; // (V, width), tensor name
  readonly width: number;
  readonly label: string;
  readonly outputGradient: BufferRange; // (rows, width)
}

export function buildLookup(context: LayerContext, { table, width, label, outputGradient }: LookupOptions): Lookup {
  const { ops, buffers, rows } = context;
  const tokens = buffers.scratch("tokens", rows);
  const index = buffers.scratch("token index", tokenIndexLength(rows));
  const output = buffers.storage(label, rows * width);
  const parts = context.matrixParts(table).map(({ firstRow: firstId, rows: ids, weight, gradient }) => ({
    ...{ sizes: { rows, width, firstId, ids }, weight, gradient },
  }));
  return {
    tokens,
    index,
    output,
    forward: parts.map(({ sizes, weight: embedding }) => ops.embed(sizes, { tokens, embedding, output })),
    backward: () =>
      parts.map(({ sizes, gradient }) =>
        ops.embedBackward(sizes, { index, outputGradient, embeddingGradient: gradient() })
      ),
  };
}

export const buildEmbed = (context: LayerContext): Lookup =>
  buildLookup(context, {
    ...{ table: embeddingName, width: context.width, label: "embedded tokens" },
    outputGradient: context.residualGradient,
  });
