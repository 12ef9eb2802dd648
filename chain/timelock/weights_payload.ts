/**
 * The payload of timelocked weights: the row in SCALE, and since version 4 of commit-reveal the hotkey before it.
 *
 * The hotkey binds a ciphertext to its sender, so no one can commit a copy of another validator's weights. Older
 * runtimes (until about spec 300) used the payload without it, and the chain still tries that form second.
 */

import { assert } from "../../core/assert.ts";
import { type Parsed, parsed, refused } from "../../core/fault.ts";
import { concatBytes, scaleBytes, ScaleReader, scaleU16s, scaleU64 } from "../scale.ts";

export interface WeightsPayload {
  readonly hotkey: Uint8Array | null; // public key, 32 bytes; null: the older form
  readonly uids: readonly number[];
  readonly values: readonly number[]; // u16 each, as many as uids
  readonly versionKey: bigint;
}

export function encodeWeightsPayload(payload: WeightsPayload): Uint8Array {
  const { hotkey, uids, values, versionKey } = payload;
  assert(
    uids.length === values.length,
    `Cannot encode weights as uids and values must be as many: current values are ${uids.length} and ${values.length}`,
  );
  const row = concatBytes(scaleU16s(uids), scaleU16s(values), scaleU64(versionKey));
  return hotkey === null ? row : concatBytes(scaleBytes(hotkey), row);
}

/** Version 4 first, then the older form, as the chain does. */
export function decodeWeightsPayload(bytes: Uint8Array): Parsed<WeightsPayload> {
  const reader = new ScaleReader(bytes);
  const hotkey = reader.vector();
  const payload = hotkey?.length === 32 ? rowOf(reader, hotkey) : null;
  const older = payload ?? rowOf(new ScaleReader(bytes), null);
  return older === null ? refused("malformedMessage", "These bytes are not a weights payload") : parsed(older);
}

function rowOf(reader: ScaleReader, hotkey: Uint8Array | null): WeightsPayload | null {
  const uids = reader.u16s(), values = reader.u16s(), versionKey = reader.u64();
  if (uids === null || values === null || versionKey === null || reader.remainingBytes > 0) return null;
  return { hotkey: hotkey === null ? null : hotkey.slice(), uids, values, versionKey };
}
