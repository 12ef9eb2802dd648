/**
 * set_commitment: what a registered hotkey publishes about itself, replacing what it published before. Free, and
 * limited in bytes per epoch. Checks in the runtime's order.
 */

import type { ChainCall } from "../../call.ts";
import type { BlockScope } from "../state/block_scope.ts";
import { epochIndexIn } from "../epoch/schedule.ts";
import { uidOf } from "../state/neurons.ts";
import { type AccountKey, keyOf } from "../state/records.ts";
import { fieldsMax, spaceBytesMax } from "../surface/commitments_pallet.ts";
import { addressOf } from "../state/account_key.ts";
import type { CallError } from "./call_error.ts";

const leastBytes = 100; // a shorter commitment counts as this many

export function setCommitment(
  scope: BlockScope,
  hotkey: AccountKey,
  { netuid, fields }: Extract<ChainCall, { type: "setCommitment" }>,
): CallError | null {
  const { state, block } = scope;
  if (uidOf(state, netuid, hotkey) === null) return "AccountNotAllowedCommit";
  if (fields.length > fieldsMax) return "TooManyFieldsInCommitmentInfo";
  const key = keyOf(netuid, hotkey);
  const epoch = epochIndexIn(scope, netuid);
  const space = state.read("commitmentSpace", key);
  const neededBytes = Math.max(leastBytes, fields.reduce((sum, { bytes }) => sum + bytes.length, 0));
  const usedBytes = neededBytes + (space?.epoch === epoch ? space.usedBytes : 0);
  if (usedBytes > spaceBytesMax) return "SpaceLimitExceeded";
  state.write("commitmentSpace", key, { epoch, usedBytes });
  state.write("commitment", key, { block, fields: fields.map(({ kind, bytes }) => ({ kind, hex: bytes.toHex() })) });
  scope.emit({ type: "commitmentSet", netuid, hotkey: addressOf(hotkey) });
  return null;
}
