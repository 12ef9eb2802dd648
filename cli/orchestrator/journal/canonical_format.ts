/**
 * Canonical bytes of plain data, equal on every machine and JavaScript engine, so that states can be compared by hash.
 *
 * A value is a version byte and one item: a tag and its content. Counts and back-references are varints (7 bits a byte,
 * low ones first).
 * - Numbers: an integer from 0 to 2^53 - 1 as a varint (below 128 in the tag), a negative one down to 1 - 2^53 as the
 *   varint of -1 - n; all others, including -0, NaN (one pattern) and the infinities, as little-endian float64.
 * - Strings: one byte a character if all are below 256, else two, little-endian, so that lone surrogates survive. A
 *   repeated string is its number in order of first occurrence.
 * - Objects: keys in order of UTF-16 code units, then values. A repeated set of keys is its number. An absent key and
 *   an `undefined` one differ.
 * - Arrays, maps and sets: their size and elements in insertion order.
 * - A repeated object is written again, unless its keys give it an identity: then it is the number of the first, and
 *   read as the same object.
 *
 * The writer refuses bigints, class instances, functions, symbols, and cycles without identity.
 */

export const canonicalVersion = 1;
export const deepest = 64; // nested items; more is a cycle or an attack

export const tags = {
  undefined: 0x00,
  null: 0x01,
  false: 0x02,
  true: 0x03,
  float: 0x04,
  integer: 0x05,
  negative: 0x06,
  latin1: 0x07,
  utf16: 0x08,
  earlierString: 0x09,
  bytes: 0x0a,
  array: 0x0b,
  map: 0x0c,
  set: 0x0d,
  newShape: 0x0e,
  earlierShape: 0x0f,
  identity: 0x10,
  earlierIdentity: 0x11,
  small: 0x80, // and above: an integer below 128
} as const;

/** `keys` are sorted. */
export type HasIdentity = (keys: readonly string[]) => boolean;

export const noIdentity: HasIdentity = () => false;
