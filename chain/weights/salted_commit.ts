/**
 * A salted commit's hash: blake2b-256 over SCALE of account, storage index, row, salt, version key. Without the salt it
 * cannot be revealed.
 */

import { blake2b } from "@noble/hashes/blake2.js";
import { assert } from "../../core/assert.ts";
import { concatBytes, scaleU16, scaleU16s, scaleU64 } from "../scale.ts";
import type { WeightsRow } from "./stored_row.ts";

const mechanismStride = 4_096; // the chain's largest number of subnets

export function storageIndex(options: { netuid: number; mechanism: number }): number {
  const { netuid, mechanism } = options;
  assert(
    netuid < mechanismStride,
    `Cannot index a subnet as its netuid must be below ${mechanismStride}: current value is ${netuid}`,
  );
  return mechanism * mechanismStride + netuid;
}

export function saltedCommitHash(options: {
  readonly publicKey: Uint8Array; // hotkey, 32 bytes
  readonly netuid: number;
  readonly mechanism: number;
  readonly row: WeightsRow;
  readonly salt: readonly number[]; // u16
  readonly versionKey: bigint;
}): Uint8Array {
  const { publicKey, row, salt, versionKey } = options;
  const encoded = concatBytes(
    publicKey,
    scaleU16(storageIndex(options)),
    scaleU16s(row.uids),
    scaleU16s(row.values),
    scaleU16s(salt),
    scaleU64(versionKey),
  );
  return blake2b(encoded, { dkLen: 32 });
}
