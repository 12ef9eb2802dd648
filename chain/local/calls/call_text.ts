/** A call as text, the same for the same call: what the embedded chain signs and what a block's calls are hashed by. */

import type { ChainCall } from "../../call.ts";

export const textOfCall = (call: ChainCall): string =>
  JSON.stringify(Object.entries(call), (_key, value: unknown) => {
    if (typeof value === "bigint") return `${value}`;
    return value instanceof Uint8Array ? value.toHex() : value;
  });
