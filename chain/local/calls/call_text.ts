/** A call as canonical text, which the embedded chain signs and with which a block's calls are hashed. */

import type { LedgerCall } from "../block/ledger.ts";

export const textOfCall = (call: LedgerCall): string =>
  JSON.stringify(Object.entries(call), (_key, value: unknown) => {
    if (typeof value === "bigint") return `${value}`;
    return value instanceof Uint8Array ? value.toHex() : value;
  });
