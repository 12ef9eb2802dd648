/**
 * Converts addresses in calls to the chain's keys and back. A call with an invalid address cannot be encoded, so that
 * is our bug.
 */

import { present } from "../../../core/assert.ts";
import type { Address } from "../../call.ts";
import { decodeAddress, encodeAddress } from "../../wallet/ss58.ts";
import type { AccountKey } from "./records.ts";

export function accountOf(address: Address): AccountKey {
  return present(
    decodeAddress(address),
    `Cannot use an account as its address must be ss58 with prefix 42: current value is '${address}'`,
  ).toHex();
}

export const addressOf = (account: AccountKey): Address => encodeAddress(Uint8Array.fromHex(account));
