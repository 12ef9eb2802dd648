/**
 * Where a slice of a stage's vector holds matrices with a row for each token (embedding, head, side tables). Their gradients
 * concentrate on the rows of frequent tokens, so a sparse payload keeps twice as many of their values.
 */

import { hasRowForEachToken, type ParameterTable } from "../../model/spec.ts";
import type { Slice } from "../../protocol/message.ts";
import type { ValueRange } from "./payload_codec.ts";

/** Relative to the slice, ascending. */
export function embeddingRanges(table: ParameterTable, { offset, size }: Slice): ValueRange[] {
  return table.tensors.flatMap((tensor) => {
    if (!hasRowForEachToken(tensor.name)) return [];
    const start = Math.max(0, tensor.offset - offset);
    const end = Math.min(size, tensor.offset + tensor.size - offset);
    return start < end ? [{ start, end }] : [];
  });
}
