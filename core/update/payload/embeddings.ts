/**
 * The parts of a slice in matrices with a row for each token. Their gradients concentrate on frequent tokens, so a
 * sparse payload keeps them twice as densely.
 */

import { hasRowForEachToken, type ParameterTable } from "../../model/spec.ts";
import type { Slice } from "../../protocol/merge_messages.ts";
import type { Embeddings } from "./payload_codec.ts";

export function embeddingsIn(table: ParameterTable, { offset, size }: Slice): Embeddings {
  const tensors = table.tensors.filter(({ name }) => hasRowForEachToken(name));
  const ranges = tensors.flatMap((tensor) => {
    const start = Math.max(0, tensor.offset - offset);
    const end = Math.min(size, tensor.offset + tensor.size - offset);
    return start < end ? [{ start, end }] : [];
  });
  return { ranges, share: tensors.reduce((sum, tensor) => sum + tensor.size, 0) / table.length };
}
