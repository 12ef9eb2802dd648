/**
 * ss58 addresses: base58(prefix 42, 32-byte public key, 2 checksum bytes). Checksum: first two bytes of
 * blake2b-512("SS58PRE" + prefix + key). Other prefixes are rejected, so a key has one address.
 */

import { blake2b } from "@noble/hashes/blake2.js";
import { base58 } from "@scure/base";
import { type NodeId, nodeId } from "../../core/ids.ts";
import { assert } from "../../core/assert.ts";

const prefix = 42;
const publicKeyBytes = 32;
const checksumBytes = 2;
const addressBytes = 1 + publicKeyBytes + checksumBytes;
const maxAddressCharacters = 50; // 35 bytes need at most 48
const checksumContext = new TextEncoder().encode("SS58PRE");

export function encodeAddress(publicKey: Uint8Array): NodeId {
  assert(
    publicKey.length === publicKeyBytes,
    `Cannot encode an address as a public key must have 32 bytes: current value is ${publicKey.length}`,
  );
  const bytes = new Uint8Array(addressBytes);
  bytes[0] = prefix;
  bytes.set(publicKey, 1);
  bytes.set(checksum(bytes.subarray(0, 1 + publicKeyBytes)), 1 + publicKeyBytes);
  return nodeId(base58.encode(bytes));
}

/** Null: invalid, or another prefix. */
export function decodeAddress(address: string): Uint8Array | null {
  if (address.length > maxAddressCharacters) return null;
  const bytes = fromBase58(address);
  if (bytes?.length !== addressBytes || bytes[0] !== prefix) return null;
  const expected = checksum(bytes.subarray(0, 1 + publicKeyBytes));
  if (bytes[addressBytes - 2] !== expected[0] || bytes[addressBytes - 1] !== expected[1]) return null;
  return bytes.slice(1, 1 + publicKeyBytes);
}

function checksum(body: Uint8Array): Uint8Array {
  const input = new Uint8Array(checksumContext.length + body.length);
  input.set(checksumContext);
  input.set(body, checksumContext.length);
  return blake2b(input, { dkLen: 64 }).subarray(0, checksumBytes);
}

function fromBase58(text: string): Uint8Array | null {
  try {
    return base58.decode(text);
  } catch {
    return null;
  }
}
