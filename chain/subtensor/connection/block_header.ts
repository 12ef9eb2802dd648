/**
 * A block's header in its JSON-RPC form, and its hash.
 *
 * Owns: the shape and the hash, which is blake2b-256 of the SCALE header: parent, compact number, two roots, digest
 * logs. Computing it saves a request per block. Out of scope: the content of the digest.
 */

import { blake2b } from "@noble/hashes/blake2.js";
import { compactToU8a, hexToU8a, u8aConcat, u8aToHex } from "@polkadot/util";
import * as v from "valibot";

export const hexSchema = v.pipe(v.string(), v.regex(/^0x([0-9a-f]{2})*$/i));
export const hashSchema = v.pipe(v.string(), v.regex(/^0x[0-9a-f]{64}$/i));

const headerSchema = v.object({
  parentHash: hashSchema,
  number: v.pipe(v.string(), v.regex(/^0x[0-9a-f]{1,8}$/i)),
  stateRoot: hashSchema,
  extrinsicsRoot: hashSchema,
  digest: v.object({ logs: v.array(hexSchema) }),
});

/** A block's number and hash. */
export interface BlockRef {
  readonly number: number;
  readonly hash: string; // 0x…
}

/** Throws a `ValiError` if `json` is not a header. */
export function parseHeader(json: unknown): BlockRef {
  const header = v.parse(headerSchema, json);
  const number = Number.parseInt(header.number, 16);
  const encoded = u8aConcat(
    hexToU8a(header.parentHash),
    compactToU8a(number),
    hexToU8a(header.stateRoot),
    hexToU8a(header.extrinsicsRoot),
    compactToU8a(header.digest.logs.length),
    ...header.digest.logs.map((log) => hexToU8a(log)),
  );
  return { number, hash: blake2Hex(encoded) };
}

/** The hash that names blocks and extrinsics. */
export function blake2Hex(bytes: Uint8Array): string {
  return u8aToHex(blake2b(bytes, { dkLen: 32 }));
}
