/** What a miner shows instead of the parameters it worked with. */

import { blobHash } from "../../../core/ids.ts";
import { atOnce } from "../../../core/long_work.ts";
import { alignFloats } from "../../../core/update/butterfly.ts";
import { changeBytes, encodeChange } from "../../../core/update/shown_change.ts";
import { refOf } from "../../../net/blob_hash.ts";
import { type Hostile, instead } from "../../lab/redteam/hostile_node.ts";

/** Names parameters that nobody has stored. */
export const showsUnstored: Hostile = instead("stateShown", ({ message }) => ({
  ...message,
  change: { ...message.change, hash: blobHash("5a".repeat(32)) },
}));

/** Shows a change of this, in every value, instead of its own, once it is stored. */
export const showsChange = (value: number): Hostile => ({
  say: ({ message, store }) => {
    if (message.type !== "stateShown") return [message];
    const values = new Float32Array(valuesIn(message.change.bytes)).fill(value);
    const bytes = atOnce(encodeChange(values, new Float32Array(values.length)));
    const ref = refOf(bytes);
    store.held.set(ref.hash, bytes);
    return [{ ...message, change: ref }];
  },
});

/** Stages have a multiple of this many values. */
const valuesIn = (bytes: number): number => alignFloats * (bytes / changeBytes(alignFloats));
