/**
 * The payload of timelocked weights: the row in SCALE, since version 4 of commit-reveal after its hotkey, so that no
 * one can commit a copy. The chain tries the older form second.
 */

import { assert } from "../../core/assert.ts";
import { type Parsed, parsed, refused } from "../../core/fault.ts";
import { concatBytes, scaleBytes, ScaleReader, scaleU16s, scaleU64 } from "../scale.ts";

interface WeightsPayload {
  readonly hotkey: Uint8Array | null; // 32 bytes; null: the older form
  readonly uids: readonly number[];
  readonly values: readonly number[]; // u16
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

/** Newer form first, as on the chain. */
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
