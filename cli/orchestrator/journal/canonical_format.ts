/**
 * The canonical bytes of plain data: the same value gives the same bytes on every machine and in every JavaScript engine, so
 * that copies of a state can be compared by their hashes and a journal can be read elsewhere.
 *
 * A value is a version byte and one item. An item is a tag and its content; counts and numbers of earlier things are varints
 * (7 bits a byte, low ones first).
 * - Numbers: an integer from 0 to 2^53 - 1 as a varint (below 128 in the tag itself), a negative one down to 1 - 2^53 as the
 *   varint of -1 - n; everything else, -0 and NaN (one pattern) and the infinities included, as a little-endian float64.
 * - Strings: a byte per character if all are below 256, else two, little-endian, so that lone surrogates survive. A string that
 *   occurred before is its number in order of first occurrence.
 * - Objects: keys in order of UTF-16 code units, then the values. Keys that occurred together before are their number. A key
 *   that is absent and one that is `undefined` differ.
 * - Arrays, maps and sets: their size and their elements in order. Insertion order is part of a map's value.
 * - Sharing is not part of a value: an object that occurs twice is written twice. The exceptions are objects with identity,
 *   which the caller recognises by their keys: a second occurrence is the number of the first and is read as the same object.
 *
 * Out of scope: bigints, class instances, functions, symbols, cycles without identity. The writer refuses them.
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

/** Whether objects with these keys, sorted, have an identity. */
export type HasIdentity = (keys: readonly string[]) => boolean;

export const noIdentity: HasIdentity = () => false;
