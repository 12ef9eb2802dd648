/** What a miner shows instead of the parameters it worked with. */

import { blobHash } from "../../../core/ids.ts";
import { bytesOfFloats } from "../../../core/model/vector_bytes.ts";
import { refOf } from "../../../net/blobs/blob_hash.ts";
import { type Hostile, instead } from "../../../cli/redteam/hostile_node.ts";

/** Names parameters that nobody has stored. */
export const showsUnstored: Hostile = instead("stateShown", ({ message }) => ({
  ...message,
  parameters: { ...message.parameters, hash: blobHash("5a".repeat(32)) },
}));

/** Shows this instead of its parameters, once it is stored. */
export const showsOther = (values: (length: number) => Float32Array): Hostile => ({
  say: ({ message, store }) => {
    if (message.type !== "stateShown") return [message];
    const bytes = bytesOfFloats(values(message.parameters.bytes / 4));
    const parameters = refOf(bytes);
    store.held.set(parameters.hash, bytes);
    return [{ ...message, parameters }];
  },
});
