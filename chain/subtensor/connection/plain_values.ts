/**
 * Schemas of the values that the registry returns as plain JSON.
 *
 * Owns: the form of integers, accounts and bytes. polkadot-js writes an integer above 2^53 as big-endian 0x text, and a
 * smaller one as a number. Out of scope: structures of them.
 */

import { hexToU8a } from "@polkadot/util";
import * as v from "valibot";
import { hexSchema } from "./block_header.ts";

/** A block number, a count, a u16. */
export const integer = v.pipe(v.number(), v.safeInteger(), v.minValue(0));

/** A u64 or u128 of any size. */
export const bigInteger = v.pipe(
  v.union([integer, v.pipe(v.string(), v.regex(/^0x[0-9a-f]+$/i))]),
  v.transform((value) => BigInt(value)),
);

export const address = v.pipe(v.string(), v.regex(/^[1-9A-HJ-NP-Za-km-z]{46,50}$/));

export const bytes = v.pipe(hexSchema, v.transform((text) => hexToU8a(text)));

/** The value of an unset account: 32 zero bytes. */
export const zeroAddress = "5C4hrfjw9DjXZTzV3MwzrrAr9P1MJhSrvWGWqi1eSuyUpnhM";
