/** Attackers that behave where they expect an audit, or show other parameters than those they worked with. */

import { blobHash } from "../../../core/ids.ts";
import { bytesOfFloats } from "../../../core/model/vector_bytes.ts";
import { refOf } from "../../../net/blobs/blob_hash.ts";
import { rounds, steps } from "./attack_world.ts";
import { type Hostile, instead, together } from "./hostile_node.ts";
import type { Spoil } from "./hostile_wires.ts";

/** Spoils in every step but the first of each round. */
export function inLaterSteps(spoil: Spoil, make: (spoil: Spoil) => Hostile): Hostile {
  let step = 0; // the open one
  const later: Spoil = (values) => {
    if (step % (steps / rounds) !== 0) spoil(values);
  };
  return together(make(later), {
    say: ({ message }) => {
      if (message.type === "stepSealed") step = message.step + 1;
      return [message];
    },
  });
}

/** Never says which parameters it used. */
export const showsNothing: Hostile = instead("stateShown", () => null);

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
