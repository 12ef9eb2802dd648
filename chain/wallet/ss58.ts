/**
 * ss58 addresses as Subtensor writes them: base58(prefix 42, 32-byte public key, 2 checksum bytes).
 *
 * Owns: encoding and decoding. Rejects: other prefixes and lengths, so each key has exactly one address here. Checksum:
 * first two bytes of blake2b-512("SS58PRE" + prefix + key).
 */

import { blake2b } from "@noble/hashes/blake2.js";
import { type NodeId, nodeId } from "../../core/ids.ts";
import { assert } from "../../core/assert.ts";

const prefix = 42;
const publicKeyBytes = 32;
const checksumBytes = 2;
const addressBytes = 1 + publicKeyBytes + checksumBytes;
const maxAddressCharacters = 50; // 35 bytes need at most 48
const alphabet = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
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
  return nodeId(toBase58(bytes));
}

/** The public key of an address, or null if the text is not an address with prefix 42. */
export function decodeAddress(address: string): Uint8Array | null {
  if (address.length > maxAddressCharacters) return null;
  const bytes = fromBase58(address);
  if (bytes === null || bytes[0] !== prefix) return null;
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

/** Our bytes never start with zero (the prefix is 42), so base58's leading-zero rule does not arise. */
function toBase58(bytes: Uint8Array): string {
  let number = bytes.reduce((sum, byte) => sum * 256n + BigInt(byte), 0n);
  let text = "";
  while (number > 0n) {
    text = alphabet[Number(number % 58n)] + text;
    number /= 58n;
  }
  return text;
}

/** Exactly 35 bytes, or null. */
function fromBase58(text: string): Uint8Array | null {
  let number = 0n;
  for (const character of text) {
    const digit = alphabet.indexOf(character);
    if (digit < 0) return null;
    number = number * 58n + BigInt(digit);
  }
  const bytes = new Uint8Array(addressBytes);
  for (let i = addressBytes - 1; i >= 0; i--) {
    bytes[i] = Number(number & 255n);
    number >>= 8n;
  }
  const startsWithZeroDigit = text.startsWith("1"); // another spelling of the same number
  return number === 0n && !startsWithZeroDigit ? bytes : null;
}
