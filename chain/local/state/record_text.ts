/**
 * Records as text: JSON in which a bigint is its digits followed by `n`.
 *
 * Owns the canonical text of a record, which is stored, hashed and compared. Rejects strings that look like such a
 * bigint; hex of even length, addresses and names do not.
 */

import { assert } from "../../../core/assert.ts";

const bigintText = /^-?\d+n$/;

export const textOfRecord = (record: unknown): string => JSON.stringify(record, spelled);

function spelled(_key: string, value: unknown): unknown {
  const isAmbiguous = typeof value === "string" && bigintText.test(value);
  assert(!isAmbiguous, `Cannot keep a text that looks like a bigint of a record: current value is '${value}'`);
  return typeof value === "bigint" ? `${value}n` : value;
}

export const recordOfText = (text: string): unknown =>
  JSON.parse(
    text,
    (_key, value: unknown) => typeof value === "string" && bigintText.test(value) ? BigInt(value.slice(0, -1)) : value,
  );
