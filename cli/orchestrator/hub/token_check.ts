/**
 * Whether a wire's ids are those of its microbatch's tokens, where ids cross with the values.
 *
 * The hub knows every microbatch, and whoever sends other ids cannot be right; wires without ids, and of a wrong length, pass
 * here and are judged elsewhere.
 */

import { type Wire, wireBytes, wireIds } from "../../../core/codec/wire.ts";
import type { MicrobatchId } from "../../../core/ids.ts";
import type { BatchSource } from "../../model/data/dataset.ts";

export function isOfTokens(
  wire: Wire,
  { bytes, batches, microbatch }: {
    readonly bytes: Uint8Array;
    readonly batches: Pick<BatchSource, "tokensOf">;
    readonly microbatch: MicrobatchId;
  },
): boolean {
  if (bytes.length !== wireBytes(wire)) return true;
  const ids = wireIds(wire, bytes);
  if (ids === null) return true;
  const { inputs } = batches.tokensOf(microbatch);
  return ids.every((id, i) => id === inputs[i]);
}
