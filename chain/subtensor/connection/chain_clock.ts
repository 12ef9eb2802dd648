/** The chain's own time, which reveals an endpoint that has fallen behind. */

import { integer } from "./plain_values.ts";
import { needed, type StateAt } from "./state.ts";

/** The time of the block, by its author's clock. */
export async function readBlockTime(state: StateAt): Promise<{ block: number; timeMs: number }> {
  const { now } = await state.read({
    now: { pallet: "Timestamp", name: "Now", keys: [], schema: integer, isRawWithoutMetadata: false },
  });
  return { block: state.block.number, timeMs: needed(now, "Timestamp.Now") };
}
