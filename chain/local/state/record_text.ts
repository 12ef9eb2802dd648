/**
 * Records as text: JSON in which a bigint is its digits with an `n` behind them.
 *
 * Owns the one spelling of a record, which is stored, hashed and compared. No string of a record looks like a bigint: they are hex
 * of even length, addresses with dots or colons, and names.
 */

const bigintText = /^-?\d+n$/;

export const textOfRecord = (record: unknown): string =>
  JSON.stringify(record, (_key, value: unknown) => typeof value === "bigint" ? `${value}n` : value);

export const recordOfText = (text: string): unknown =>
  JSON.parse(
    text,
    (_key, value: unknown) => typeof value === "string" && bigintText.test(value) ? BigInt(value.slice(0, -1)) : value,
  );
