/** A call as text, the same for the same call: what the embedded chain signs and what a block's calls are hashed by. */

import type { LedgerCall } from "../ledger.ts";

export const textOfCall = (call: LedgerCall): string =>
  JSON.stringify(Object.entries(call), (_key, value: unknown) => {
    if (typeof value === "bigint") return `${value}`;
    return value instanceof Uint8Array ? value.toHex() : value;
  });
