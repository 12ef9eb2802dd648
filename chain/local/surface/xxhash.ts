/**
 * xxHash64 of short inputs, and the storage keys' twox128 and twox64. Packages are asynchronous, and the client's own
 * would hide a shared mistake.
 */

const primes = [
  0x9E3779B185EBCA87n,
  0xC2B2AE3D27D4EB4Fn,
  0x165667B19E3779F9n,
  0x85EBCA77C2B2AE63n,
  0x27D4EB2F165667C5n,
] as const;
const [prime1, prime2, prime3, prime4, prime5] = primes;

const stripeBytes = 32;
const laneBytes = 8;

const wrap = (value: bigint): bigint => BigInt.asUintN(64, value);
const rotate = (value: bigint, bits: bigint): bigint => wrap(value << bits | value >> (64n - bits));
const round = (lane: bigint, input: bigint): bigint => wrap(rotate(wrap(lane + input * prime2), 31n) * prime1);

function xxhash64(bytes: Uint8Array, seed: bigint): bigint {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;
  let hash = wrap(seed + prime5);
  if (bytes.length >= stripeBytes) {
    const lanes = [seed + prime1 + prime2, seed + prime2, seed, seed - prime1].map(wrap);
    for (; at + stripeBytes <= bytes.length; at += stripeBytes) {
      lanes.forEach((lane, i) => lanes[i] = round(lane, view.getBigUint64(at + i * laneBytes, true)));
    }
    hash = lanes.reduce((sum, lane, i) => wrap(sum + rotate(lane, [1n, 7n, 12n, 18n][i]!)), 0n);
    for (const lane of lanes) hash = wrap((hash ^ round(0n, lane)) * prime1 + prime4);
  }
  hash = wrap(hash + BigInt(bytes.length));
  for (; at + laneBytes <= bytes.length; at += laneBytes) {
    hash = wrap(rotate(hash ^ round(0n, view.getBigUint64(at, true)), 27n) * prime1 + prime4);
  }
  if (at + 4 <= bytes.length) {
    hash = wrap(rotate(hash ^ wrap(BigInt(view.getUint32(at, true)) * prime1), 23n) * prime2 + prime3);
    at += 4;
  }
  for (; at < bytes.length; at++) hash = wrap(rotate(hash ^ wrap(BigInt(bytes[at]!) * prime5), 11n) * prime1);
  hash = wrap((hash ^ hash >> 33n) * prime2);
  hash = wrap((hash ^ hash >> 29n) * prime3);
  return hash ^ hash >> 32n;
}

/** 8 bytes, little-endian. */
export function twox64(bytes: Uint8Array): Uint8Array {
  return hashes(bytes, 1);
}

/** 16 bytes: seeds 0 and 1. */
export function twox128(bytes: Uint8Array): Uint8Array {
  return hashes(bytes, 2);
}

function hashes(bytes: Uint8Array, count: number): Uint8Array {
  const result = new Uint8Array(count * 8);
  const view = new DataView(result.buffer);
  for (let seed = 0; seed < count; seed++) view.setBigUint64(seed * 8, xxhash64(bytes, BigInt(seed)), true);
  return result;
}
