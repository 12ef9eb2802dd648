/** The registry's plain JSON. polkadot-js writes integers above 2^53 as big-endian 0x text. */

import { compactToU8a, hexToU8a, u8aConcat, u8aToHex } from "@polkadot/util";
import * as v from "valibot";
import { blake2b } from "@noble/hashes/blake2.js";

export const hexSchema = v.pipe(v.string(), v.regex(/^0x([0-9a-f]{2})*$/i));
export const hashSchema = v.pipe(v.string(), v.regex(/^0x[0-9a-f]{64}$/i));

const headerSchema = v.object({
  parentHash: hashSchema,
  number: v.pipe(v.string(), v.regex(/^0x[0-9a-f]{1,8}$/i)),
  stateRoot: hashSchema,
  extrinsicsRoot: hashSchema,
  digest: v.object({ logs: v.array(hexSchema) }),
});

export interface BlockRef {
  readonly number: number;
  readonly hash: string;
}

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

export function blake2Hex(bytes: Uint8Array): string {
  return u8aToHex(blake2b(bytes, { dkLen: 32 }));
}

export const integer = v.pipe(v.number(), v.safeInteger(), v.minValue(0));

export const bigInteger = v.pipe(
  v.union([integer, v.pipe(v.string(), v.regex(/^0x[0-9a-f]+$/i))]),
  v.transform((value) => BigInt(value)),
);

export const address = v.pipe(v.string(), v.regex(/^[1-9A-HJ-NP-Za-km-z]{46,50}$/));

export const bytes = v.pipe(hexSchema, v.transform((text) => hexToU8a(text)));

/** An unset account: 32 zero bytes. */
export const zeroAddress = "5C4hrfjw9DjXZTzV3MwzrrAr9P1MJhSrvWGWqi1eSuyUpnhM";
