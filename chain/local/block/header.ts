/**
 * Block headers in SCALE: parentHash(32) ++ compact(number) ++ stateRoot(32) ++ extrinsicsRoot(32) ++ compact(0), the
 * empty digest.
 */

import { blake2b } from "@noble/hashes/blake2.js";
import { concatBytes, scaleLength } from "../../scale.ts";
import type { LocalHeader } from "./ledger.ts";

export const hashBytes = (bytes: Uint8Array): Uint8Array => blake2b(bytes, { dkLen: 32 });

export function encodeHeader(header: LocalHeader): Uint8Array {
  const number = scaleLength(header.number);
  return concatBytes(header.parentHash, number, header.stateRoot, header.extrinsicsRoot, scaleLength(0));
}

export const hashOfHeader = (header: LocalHeader): Uint8Array => hashBytes(encodeHeader(header));
