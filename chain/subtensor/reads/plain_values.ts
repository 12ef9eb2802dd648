/**
 * Schemas of the values that the registry hands out as plain JSON.
 *
 * Owns: how integers, accounts and bytes look there. polkadot-js writes an integer above 2^53 as big-endian 0x text, and a smaller
 * one as a number. Refuses: the structures made of them.
 */

import { hexToU8a } from "@polkadot/util";
import * as v from "valibot";
import { hexSchema } from "../sending/block_header.ts";

/** A block number, a count, a u16. */
export const integer = v.pipe(v.number(), v.safeInteger(), v.minValue(0));

/** A u64 or u128 of any size. */
export const bigInteger = v.pipe(
  v.union([integer, v.pipe(v.string(), v.regex(/^0x[0-9a-f]+$/i))]),
  v.transform((value) => BigInt(value)),
);

export const address = v.pipe(v.string(), v.regex(/^[1-9A-HJ-NP-Za-km-z]{46,50}$/));

export const bytes = v.pipe(hexSchema, v.transform((text) => hexToU8a(text)));

/** What an unset account reads as: 32 zero bytes. */
export const zeroAddress = "5C4hrfjw9DjXZTzV3MwzrrAr9P1MJhSrvWGWqi1eSuyUpnhM";
